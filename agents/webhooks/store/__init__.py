"""Reads and writes endpoints, events and deliveries."""
