"""Pages: login, password, API keys."""
