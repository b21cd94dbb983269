"""The record: agents, sessions, turns, steps and items.

It is written event by event, read, followed live, searched and deleted.
"""
