"""What the tests of a turn's page share: fetching it, and finding its parts."""

from __future__ import annotations

from django.test import Client

from agents import ids
from tests.builders import Recorded
from tests.ui.markup import elements


def url_of(made: Recorded) -> str:
    return f"/turns/{ids.public(ids.Kind.TURN, made.turn)}/"


def get(client: Client, made: Recorded | str, query: str = "") -> str:
    """The page, which must be there."""
    answer = client.get((made if isinstance(made, str) else url_of(made)) + query)
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


def cards(page: str) -> list[dict[str, str]]:
    """The attributes of the steps' cards, in their order."""
    return [each for each in elements(page, "article") if "data-step" in each]
