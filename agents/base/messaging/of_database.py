"""The channel of a process, by the database it has."""

from __future__ import annotations

from django.db import connection

from agents.base.messaging.channel import MessageChannel, NoMessageChannel


def channel_of_database(process: str) -> MessageChannel:
    """Return the channel between the processes on Django's database; SQLite has none."""
    if connection.vendor != "postgresql":
        return NoMessageChannel(process)
    # a process on SQLite does not import the driver
    from agents.base.messaging.postgresql import PostgresMessageChannel

    parameters = connection.get_connection_params()
    for of_django in ("cursor_factory", "context"):
        parameters.pop(of_django, None)
    return PostgresMessageChannel(process, parameters)
