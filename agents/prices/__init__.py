"""Prices: the prices of models, and the pricing of steps."""
