"""The URL table of the API, and what this server offers."""
