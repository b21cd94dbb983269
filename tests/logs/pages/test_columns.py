"""The columns of the lists: heads, cells, menu and style sheet follow from one table."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.pages.columns import COLUMNS
from agents.logs.pages.lists import ALL, ListTab
from tests import ROOT
from tests.loop.test_loop import tool
from tests.support.builders import make_response, make_session, make_turn
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db
STYLES = (ROOT / "static/logs/list.css").read_text()
CHECKBOX = ("checkbox", "col")
lists = pytest.mark.parametrize("tab", ALL, ids=[tab.level for tab in ALL])


@pytest.fixture
def me(db: None) -> Actor:
    actor = keys.local()
    for text in ("One", "Two"):
        make_response(actor, f"say {text}.")
    return actor


def get(client: Client, path: str, columns: str = "") -> str:
    """Return the page of a list with these columns."""
    answer = client.get(path, {"col": columns.split()} if columns else {})
    assert answer.status_code == 200
    return answer.content.decode()


def visible(page: str) -> list[str]:
    """Return the keys of the columns whose positions the table does not hide."""
    [table] = [element for element in elements(page, "table") if "data-log" in element]
    boxes = [element for element in elements(page, "input") if (element.get("type"), element.get("name")) == CHECKBOX]
    hidden = {int(position) for position in table["data-hidden"].split()}
    assert [position not in hidden for position in range(1, len(boxes) + 1)] == ["checked" in box for box in boxes]
    return [box["value"] for position, box in enumerate(boxes, start=1) if position not in hidden]


@lists
def test_heads_and_cells_have_one_order(client: Client, me: Actor, tab: ListTab) -> None:
    """Also in the menu of columns, whose positions are those that a table hides."""
    page = get(client, tab.path)
    expected = [column.classes for column in COLUMNS[tab.level]]
    assert [head["class"] for head in elements(page, "th") if head.get("role") == "columnheader"] == expected
    rows = re.findall(r'<tr class="log-row".*?</tr>', page, re.DOTALL)
    assert len(rows) == 2
    for row in rows:
        assert [cell["class"] for cell in elements(row, "td")] == expected
    boxes = [
        element["value"]
        for element in elements(page, "input")
        if (element.get("type"), element.get("name")) == CHECKBOX
    ]
    assert boxes == [column.key for column in COLUMNS[tab.level]]


def test_rows_without_texts_say_so(client: Client, me: Actor) -> None:
    make_session(me, None, "quiet")
    make_turn(me, "call lookup {}\nthen\nsay", server_tools=tool(content=""))
    assert "no messages yet" in words(get(client, "/sessions/"))
    assert "no text" in words(get(client, "/steps/"))
    for tab in ALL:
        assert unsafe(get(client, tab.path)) == []


@lists
def test_what_is_not_chosen_is_hidden(client: Client, me: Actor, tab: ListTab) -> None:
    columns = COLUMNS[tab.level]
    fixed = {column.key for column in columns if column.fixed}
    assert visible(get(client, tab.path)) == [column.key for column in columns if not column.optional]
    optional = next(column.key for column in columns if column.optional)
    chosen = [column.key for column in columns if column.key in {optional, *fixed}]
    assert visible(get(client, tab.path, f"{optional} unheard-of")) == chosen
    assert visible(get(client, tab.path, "unheard-of")) == visible(get(client, tab.path))
    client.cookies[f"columns-{tab.level}"] = f"{optional}.unheard-of"
    assert visible(get(client, tab.path)) == chosen


@lists
def test_the_style_sheet_knows_every_class_and_position(tab: ListTab) -> None:
    for position, column in enumerate(COLUMNS[tab.level], start=1):
        for name in column.classes.split():
            assert re.search(rf"\.{name}\b", STYLES), name
        assert f'.log-table[data-hidden~="{position}"] tr > :nth-child({position})' in STYLES


def test_no_style_is_for_one_column() -> None:
    """A new column gets its looks from its kind."""
    names = {column.key for columns in COLUMNS.values() for column in columns}
    assert [name for name in sorted(names) if re.search(rf"\.{name}\b", STYLES)] == []
