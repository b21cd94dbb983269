"""What `DATABASE_URL` becomes."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from agentsite.settings import database


def test_what_it_says_of_a_connection_comes_before_ours() -> None:
    options = database("postgres://me@db/agents?tcp_user_timeout=3000&keepalives_idle=60")["OPTIONS"]
    assert (options["tcp_user_timeout"], options["keepalives_idle"], options["keepalives_interval"]) == (3000, 60, 2)


def test_another_engine_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="sqlite and postgres"):
        database("mysql://me@db/agents")


@pytest.mark.django_db
def test_a_server_that_is_gone_without_a_word_is_noticed() -> None:
    """A connection ends when nothing has come back for ten seconds, be it an answer or a sign of life."""
    if connection.vendor != "postgresql":
        pytest.skip("a file is not gone; the PostgreSQL phase of `make check` runs it")
    connection.ensure_connection()
    with closing(socket.socket(fileno=socket.dup(connection.connection.fileno()))) as copy:
        if copy.family == socket.AF_UNIX:
            pytest.skip("it is on this machine")
        limits = {
            name: copy.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in ("TCP_USER_TIMEOUT", "TCP_KEEPIDLE", "TCP_KEEPINTVL")
        }
        assert copy.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert limits == {"TCP_USER_TIMEOUT": 10_000, "TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2}
