"""The Django app of the project: configures redaction, private database files and a figure at the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.apps import AppConfig
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from agents.base import metrics, redaction
from agentsite import sqlite


class AgentsiteConfig(AppConfig):
    name = "agentsite"

    def ready(self) -> None:
        from agentsite import known_secrets  # settings can be read only now

        redaction.configure(known_secrets.of_settings())
        connection_created.connect(_prepare)
        told = "Connections to PostgreSQL that requests share, and how many wait for one, by kind."
        metrics.measure_by("kind", "database_connections", told, _connections)


def _prepare(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Make the database files private, whichever command opens them first and whatever its umask."""
    sqlite.make_private(connection.settings_dict)


def _connections() -> Mapping[str, float]:
    if connection.vendor != "postgresql":
        return {}
    # a process on SQLite does not import the driver
    from agentsite import shared_connections

    return shared_connections.usage()
