"""Lists in the order of an amount: the same rows as unsorted, each once, whichever way they are paged through."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store import keys as api_keys
from agents.base.timestamps import to_us
from agents.logs.runner.export_requests import read_request, sync_chunks
from agents.logs.schemas.row_ids import cursor_of, position_of
from agents.logs.schemas.sorting import SORT_FIELDS, SortOrder, SortPosition, read_order
from agents.logs.store import export, listing
from agents.query.tree import Level, Query
from agents.record.models.turns import Turn
from tests.logs.store.many_turns import Many, asked
from tests.support.builders import make_turn

pytestmark = pytest.mark.django_db

AMOUNTS: dict[str, Any] = {
    "duration": lambda row: row.duration_us,
    "waited": lambda row: row.waited_us,
    "tokens": lambda row: row.input_tokens + row.output_tokens,
    "cost": lambda row: row.cost_nano,
    "ttft": lambda row: row.ttft_us,
}
OF_SESSIONS = ("tokens", "cost")
OF_RESPONSES = {
    "duration": lambda row: to_us(row.completed_at) - to_us(row.created_at) if row.completed_at else None,
    "tokens": AMOUNTS["tokens"],
}
QUERIES: dict[Level, tuple[str, ...]] = {
    "turn": ("", "status:failed", "tool:search -tag:vip"),
    "step": ("", "type:inference"),
    "session": ("", "tokens:>1k"),
    "response": ("", "model:m1"),
}


def expected(actor: Actor, query: Query, order: SortOrder) -> list[int]:
    amount = (OF_RESPONSES if query.level == "response" else AMOUNTS)[order.field]
    sign = -1 if order.descending else 1
    rows = listing.visible(query.level, actor).filter(pk__in=unsorted(actor, query))

    def rank(row: Any) -> tuple[bool, int, int]:
        value = amount(row)
        return value is None, sign * (value or 0), -row.pk

    return [row.pk for row in sorted(rows, key=rank)]


def unsorted(actor: Actor, query: Query) -> list[int]:
    return listing.page(actor, query, limit=10_000).keys


def orders(level: Level) -> list[SortOrder]:
    fields = {"session": OF_SESSIONS, "response": tuple(OF_RESPONSES)}.get(level, tuple(AMOUNTS))
    return [SortOrder(field, descending) for field in fields for descending in (True, False)]


def forth(actor: Actor, query: Query, order: SortOrder, limit: int) -> list[int]:
    """The keys of all pages, from the first on."""
    found, after, has_after = list[int](), None, True
    while has_after:
        page = listing.sorted_page(actor, query, order, after=after, limit=limit)
        assert page.has_before == (after is not None)
        found += [position.key for position in page.positions]
        after, has_after = (page.positions[-1] if page.positions else None), page.has_after
    return found


@pytest.mark.parametrize("level", QUERIES)
def test_pages_in_any_order_have_each_row_once(many: Many, level: Level) -> None:
    for actor in many.actors[:2]:
        for text in QUERIES[level]:
            query = asked(text, level)
            for order in orders(level):
                wanted = expected(actor, query, order)
                assert forth(actor, query, order, 50) == wanted, (text, order)
                assert listing.sorted_page(actor, query, order, limit=7).keys == wanted[:7]


def test_the_way_back_is_the_way_forth(many: Many) -> None:
    actor, query = many.actors[0], asked("")
    for order in orders("turn"):
        wanted = expected(actor, query, order)
        first = listing.sorted_page(actor, query, order, limit=10_000)
        before, back = first.positions[-1], [first.positions[-1].key]
        while True:
            page = listing.sorted_page(actor, query, order, before=before, limit=40)
            back = [position.key for position in page.positions] + back
            if not page.has_before:
                break
            before = page.positions[0]
        assert back == wanted, order


def test_an_export_has_the_order_of_its_list(many: Many, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "BATCH_ROWS", 16)
    monkeypatch.setattr(export, "SORTED_ROWS", 50)
    for text in ("-cost", "duration", "started", "-started"):
        request = read_request(many.actors[0], "turn", {"format": "csv", "fields": "id", "sort": text})
        ids = b"".join(sync_chunks(request)).decode().split()[1:]
        wanted = listing.sorted_page(many.actors[0], asked(""), read_order(text), limit=10_000).keys
        assert [position_of("turn", f"none:{public_id}") for public_id in ids] == [
            position_of("turn", cursor_of("turn", SortOrder("cost", True), SortPosition(None, key))) for key in wanted
        ]


def test_the_api_pages_by_cursors_and_by_ids(client: Client, db: None) -> None:
    me = api_keys.local()
    made = [make_turn(me).turn for _ in range(3)]
    for key, cost in zip(made, (5, None, 9), strict=True):
        Turn.all_objects.filter(pk=key).update(cost_nano=cost)

    def listed(**params: Any) -> dict[str, Any]:
        found: dict[str, Any] = client.get("/v1/logs/turns", {"sort": "-cost", "limit": 2, **params}).json()
        return found

    first = listed()
    assert [row["cost_usd"] for row in first["data"]] == [9e-9, 5e-9]
    assert first["has_more"]
    assert first["last_cursor"] == f"5:{first['last_id']}"
    for after in (first["last_cursor"], first["last_id"]):
        last = listed(after=after)
        assert [row["cost_usd"] for row in last["data"]] == [None]
        assert not last["has_more"]
    assert [row["id"] for row in listed(before=last["first_cursor"])["data"]] == [row["id"] for row in first["data"]]
    unsorted_page = client.get("/v1/logs/turns", {"limit": 2}).json()
    assert unsorted_page["last_cursor"] == unsorted_page["last_id"]


@pytest.mark.parametrize(
    ("path", "params", "param"),
    [
        ("turns", {"sort": "colour"}, "sort"),
        ("turns", {"sort": "--cost"}, "sort"),
        ("sessions", {"sort": "ttft"}, "sort"),
        ("responses", {"sort": "cost"}, "sort"),
        ("turns", {"sort": "cost", "order": "asc"}, "order"),
        ("turns", {"sort": "cost", "after": "5:x"}, "after"),
        ("turns", {"sort": "cost", "after": f"{'9' * 30}:01a2b3c4-0000-8000-8000-000000000000"}, "after"),
        ("turns", {"sort": "cost", "after": "01a2b3c4-0000-8000-8000-000000000000"}, "after"),
        ("turns/export", {"sort": "colour"}, "sort"),
        ("sessions/export", {"sort": "ttft"}, "sort"),
    ],
)
def test_what_makes_no_order_is_refused(
    client: Client, db: None, path: str, params: dict[str, str], param: str
) -> None:
    answer = client.get(f"/v1/logs/{path}", params)
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["param"] == param


def test_every_field_can_be_read() -> None:
    assert [read_order(f"-{name}") for name in SORT_FIELDS] == [
        SortOrder(name, descending=True) for name in SORT_FIELDS
    ]
    with pytest.raises(InvalidRequest):
        read_order("-")
