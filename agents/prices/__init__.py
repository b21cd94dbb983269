"""Prices of models, and the costs of steps."""
