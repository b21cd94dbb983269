"""Writes and reads forks, and the input of comparisons."""
