"""Parts of every admin page."""
