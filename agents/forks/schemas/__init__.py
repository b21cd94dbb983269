"""Wire types of forks and comparisons."""
