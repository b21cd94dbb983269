"""The pages: function views that read a filter, ask the store, and render."""
