"""What the tests of a turn's page share: fetching it, and finding its parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.test import Client

from agents.base import ids
from tests.support.builders import Recorded
from tests.support.pages.markup import elements


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


class OnceRead:
    """Does something between two reads of a page: before the statement behind the first that reads a
    table. To be used with ``connection.execute_wrapper``."""

    def __init__(self, table: str, act: Callable[[], None]) -> None:
        self.table, self.act = table, act
        self.read = self.done = False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if self.read and not self.done:
            self.done = True
            self.act()
        self.read = self.read or (sql.startswith("SELECT") and f"{self.table} " in sql)
        return execute(sql, params, many, context)
