"""Turns as OTLP."""
