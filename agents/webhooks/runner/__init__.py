"""Async work: events become deliveries, and these are sent."""
