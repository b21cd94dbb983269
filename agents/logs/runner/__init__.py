"""What the logs do by themselves, and for several callers: exports as bytes, rules of retention."""
