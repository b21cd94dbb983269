"""Runs imports, and exports turns to a collector as they end."""
