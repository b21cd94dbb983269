"""Logs of agents that run elsewhere: spans and files in, turns and steps out; and our turns as spans."""
