"""The project's configuration as an app: what has to be known before anything is asked of it."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from agents.base import redaction
from agentsite import sqlite


class AgentsiteConfig(AppConfig):
    name = "agentsite"

    def ready(self) -> None:
        from agentsite import known_secrets  # settings can be read only now

        redaction.configure(known_secrets.of_settings())
        connection_created.connect(_keep_private)


def _keep_private(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Whichever command is the first to open the database, and whatever its umask."""
    sqlite.make_private(connection.settings_dict)
