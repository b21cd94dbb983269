"""Translates requests and chunks between the APIs and the inference protocol."""
