"""Forks a turn from one of its steps, and compares two turns.

A fork is a turn of the same loop with recorded outcomes.
"""
