"""Whether the server lives and takes turns: said to anyone, and nothing beside it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from agents.loop import current_service
from turnlog import __version__

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


@pytest.mark.parametrize("asks", [False, True])
def test_it_is_well(asks: bool, settings: Any) -> None:
    settings.REQUIRE_LOGIN = asks
    assert Client().get("/healthz").json() == {"status": "ok"}
    assert Client().get("/readyz").json() == {"status": "ok", "problems": []}
    assert Client().get("/v1/health").json() == {"status": "OK"}
    assert Client().get("/v1/version").json() == {"version": __version__, "agents_api": "0.2.12"}


def test_a_server_that_goes_away_takes_no_turns() -> None:
    current_service.service().runner.stopping = True
    response = Client().get("/readyz")
    assert (response.status_code, response.json()["problems"]) == (503, ["shutting down"])
    assert Client().get("/healthz").status_code == 200


def test_trouble_with_the_database_is_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(*args: Any) -> Any:
        raise OperationalError('connection to server at "10.0.0.5" failed for user "agents"\npassword=hunter2')

    with connection.execute_wrapper(refuse), caplog.at_level(logging.WARNING):
        response = Client().get("/readyz")
    assert (response.status_code, response.json()["problems"]) == (503, ["the database cannot be reached"])
    assert "10.0.0.5" in caplog.text
