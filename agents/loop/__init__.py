"""The agent loop and what runs it: a request in, numbered events out. Providers are given to it."""
