"""Reports that were refused: counted, logged, and shown to those whose they are."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.models.people import User
from agents.base.store import keys
from agents.telemetry.store.external.refused_reports import MAX_ENTRIES, refusals
from tests.conftest import Clock
from tests.support.pages.markup import unsafe, words
from tests.support.pages.turn_page import get
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>"
UNKNOWN = "ask_0000000000000000000000"


@pytest.fixture(autouse=True)
def _none_refused() -> Iterator[None]:
    refusals.clear()
    yield
    refusals.clear()


@pytest.fixture
def with_login(settings: Any) -> None:
    settings.REQUIRE_LOGIN = True


def report(client: Client, path: str = "/v1/traces", body: Any = None, secret: str = "", **more: Any) -> Any:
    data = json.dumps(reports.request(*reports.turn(1)) if body is None else body)
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return client.post(path, data, **{"content_type": "application/json", "headers": headers, **more})


def shown(client: Client) -> str:
    page = get(client, "/connect/")
    assert unsafe(page) == []
    text = words(page)
    return text.partition("Refused reports")[2] if "Refused reports" in text else ""


def refused(client: Client) -> set[tuple[str, ...]]:
    """The address, status, key and number of each row."""
    rows = [re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in get(client, "/connect/").split("<tr>")[2:]]
    cells = [[words(cell).strip() for cell in row] for row in rows]
    return {(path, status, key, count) for path, status, _, key, count, _ in cells}


def page_of(actor: Actor) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=actor.name))
    return client


def key_of(actor: Actor, name: str, *actions: Any) -> str:
    return keys.create(actor, name=name, actions=actions)[1]


def test_there_is_nothing_where_nothing_was_refused(client: Client) -> None:
    keys.local()
    assert report(client).status_code == 200
    assert shown(client) == ""


def test_what_was_refused_is_counted_with_its_last_reason(client: Client) -> None:
    keys.local()
    for body in ({"resourceSpans": 1}, {"resourceSpans": HOSTILE}):
        assert report(client, body=body).status_code == 400
    assert report(client, content_type="text/plain").status_code == 415
    assert ("/v1/traces", "400", "local", "2") in refused(client)
    text = shown(client)
    assert "Content-Type must be application/x-protobuf or application/json, not text/plain." in text


def test_a_run_of_langsmith_stands_under_its_route(client: Client) -> None:
    keys.local()
    for run in ("a", "b"):
        assert client.patch(f"/langsmith/runs/{run}", "[]", content_type="application/json").status_code == 400
    assert ("/langsmith/runs/<str:run_id>", "400", "local", "2") in refused(client)


def test_each_sees_its_own_and_an_administrator_all(
    client: Client, with_login: None, make_user: Callable[..., Actor], admin: Actor
) -> None:
    ann, bob = make_user("ann"), make_user("bob")
    reading = key_of(ann, "reader", "read")
    assert report(client, secret=reading).status_code == 403
    assert report(client).status_code == 401
    assert report(client, secret=UNKNOWN).status_code == 401
    own = ("/v1/traces", "403", "ann (reader)", "1")
    assert refused(page_of(ann)) == {own}
    assert shown(page_of(bob)) == ""
    assert refused(page_of(admin)) == {own, ("/v1/traces", "401", "no valid key", "2")}
    assert not any(secret in get(page_of(admin), "/connect/") for secret in (reading, UNKNOWN))


@pytest.mark.parametrize(
    ("path", "signal"),
    [("/v1/traces/v1/traces", "traces"), ("/v1/v1/traces", "traces"), ("/v1/traces/v1/logs", "logs")],
)
def test_an_address_with_its_end_twice_says_what_to_set(client: Client, path: str, signal: str) -> None:
    keys.local()
    answer = report(client, path)
    assert answer.status_code == 404
    message = answer.json()["error"]["message"]
    assert f"Nothing is at {path}" in message
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://testserver," in message
    assert f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT=http://testserver/v1/{signal}." in message
    assert (path, "404", "local", "1") in refused(client)


def test_one_that_comes_again_and_again_is_logged_once_a_minute(
    client: Client, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    keys.local()
    name = "agents.telemetry.store.external.refused_reports"
    with caplog.at_level(logging.WARNING, name):
        for _ in range(3):
            report(client, body=[])
        clock.pass_s(61)
        report(client, body=[])
    lines = [record.getMessage() for record in caplog.records if record.name == name]
    assert [line.partition("count=")[2].partition(":")[0] for line in lines] == ["1", "4"]
    assert "path=/v1/traces status=400" in lines[0]


def test_they_are_bounded(admin: Actor) -> None:
    for number in range(MAX_ENTRIES + 5):
        refusals.add(admin, f"/{number}", InvalidRequest("no\n\x1b[1m"))
    entries = refusals.visible_to(admin)
    assert entries[0].reason == "no  [1m"
    assert [entry.path for entry in entries] == [f"/{number}" for number in range(MAX_ENTRIES + 4, 4, -1)]
