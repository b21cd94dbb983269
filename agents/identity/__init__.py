"""Pages for login, API keys and groups, and the identity providers that know the tokens of others."""
