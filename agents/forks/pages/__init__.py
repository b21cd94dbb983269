"""Pages: fork a turn, compare two turns, where a turn was forked from."""
