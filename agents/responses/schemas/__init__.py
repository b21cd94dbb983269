"""Wire types of requests, input items and objects."""
