"""The Django app of the project: configures redaction and private database files at the start."""

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
    """Make the database files private, whichever command opens them first and whatever its umask."""
    sqlite.make_private(connection.settings_dict)
