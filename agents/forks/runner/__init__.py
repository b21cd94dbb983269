"""Prepares a fork: reads the recorded outcomes of the source and starts the new turn."""
