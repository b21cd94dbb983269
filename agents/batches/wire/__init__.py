"""Lines of files, and what of an answer is counted."""
