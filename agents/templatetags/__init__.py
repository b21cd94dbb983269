"""What templates of pages may call."""
