"""The tools of a turn, by group and name."""
