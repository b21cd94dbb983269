"""Identity: pages for login and API keys, the admin of users and groups, and identity providers for external tokens."""
