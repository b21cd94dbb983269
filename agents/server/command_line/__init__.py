"""Helpers of the management commands."""
