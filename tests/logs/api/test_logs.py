"""``/v1/logs/<level>``: pages in both directions, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from tests.support.builders import make_agent, make_response, make_session, make_turn
from tests.support.inprocess import collect_static

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]

LEVELS = ["turns", "sessions", "steps", "responses"]


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


@pytest.fixture
def played(admin: Actor) -> None:
    """Five rows at least of each level."""
    agent = make_agent(admin)
    for number in range(5):
        make_turn(admin, f"say {number}.", agent=agent, session=make_session(admin, agent))
        make_response(admin)


def read(client: Client, level: str, **query: str) -> Any:
    answer = client.get(f"/v1/logs/{level}", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def names(page: Any) -> list[str]:
    return [row["id"] for row in page["data"]]


@pytest.mark.parametrize("level", LEVELS)
def test_pages_lead_there_and_back(level: str, client: Client, played: None) -> None:
    whole = names(read(client, level))
    first = read(client, level, limit="2")
    second = read(client, level, limit="2", after=first["last_id"])
    assert [*names(first), *names(second)] == whole[:4]
    assert (first["has_more"], second["has_more"]) == (True, True)
    assert names(read(client, level, limit="2", before=second["first_id"])) == names(first)
    assert names(read(client, level, order="asc")) == whole[::-1]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "given", [{"after": "x"}, {"before": "-1"}, {"limit": "many"}, {"order": "up"}, {"tz": "Mars"}]
)
def test_what_no_page_can_be_is_refused(level: str, given: dict[str, str], client: Client, admin: Actor) -> None:
    answer = client.get(f"/v1/logs/{level}", given)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, next(iter(given)))


@pytest.mark.parametrize("level", LEVELS)
def test_two_directions_at_once_are_refused(level: str, client: Client, played: None) -> None:
    [one, other] = names(read(client, level, limit="2"))
    answer = client.get(f"/v1/logs/{level}", {"after": one, "before": other})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "before")
