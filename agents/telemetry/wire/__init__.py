"""Converts turns to OTLP."""
