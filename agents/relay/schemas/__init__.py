"""Wire types of completions and inference."""
