"""The project's configuration as an app: what has to be known before anything is asked of it."""

from __future__ import annotations

from django.apps import AppConfig

from agents import redaction


class AgentsiteConfig(AppConfig):
    name = "agentsite"

    def ready(self) -> None:
        from agentsite import known_secrets  # settings can be read only now

        redaction.configure(known_secrets.of_settings())
