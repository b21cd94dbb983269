"""Filters of a search as SQL: what they let through, on both databases alike."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from agents.base.access import Actor
from agents.knowledge.models.vector_dbs import VectorDocument
from agents.knowledge.schemas import filters
from agents.knowledge.store import files, filter_sql, vector_dbs
from agents.knowledge.store.files import NewFile
from agents.knowledge.store.vector_dbs import NewChunk, NewDocument

pytestmark = pytest.mark.django_db

BLUE = {"colour": "blue", "year": 2024, "price": 9.5, "sold": False, "on": "2024-05-01", "é\"'$.x": "ü", "none": None}


def compare(kind: str, key: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "key": key, "value": value}


def make_db(actor: Actor) -> int:
    return vector_dbs.register(actor, "kb", embedding_model="keyword", embedding_dimension=4, provider_id="builtin").key


def add(db: int, name: str, *chunks: Mapping[str, Any]) -> None:
    made = [NewChunk(f"{name} {number}", 2, metadata) for number, metadata in enumerate(chunks)]
    vector_dbs.insert(db, [NewDocument(name, made, size=4)])


def selected(db: int, wanted: Any) -> list[str]:
    """Return the texts of the chunks that a filter lets through."""
    parsed = filters.parse(wanted)
    assert parsed is not None
    selection = filter_sql.chunks_matching(db, parsed)
    with connection.cursor() as cursor:
        sql = f"SELECT text FROM agents_chunk WHERE id IN ({selection.sql}) ORDER BY id"
        cursor.execute(sql, selection.values)
        return [row[0] for row in cursor.fetchall()]


@pytest.fixture
def blue(make_user: Callable[..., Actor]) -> Callable[[Any], bool]:
    db = make_db(make_user("ann"))
    add(db, "blue", BLUE)
    return lambda wanted: selected(db, wanted) == ["blue 0"]


@pytest.mark.parametrize(
    ("kind", "key", "value", "found"),
    [
        ("eq", "colour", "blue", True),
        ("eq", "colour", "Blue", False),
        ("eq", "year", 2024.0, True),
        ("eq", "year", "2024", False),
        ("eq", "sold", False, True),
        ("eq", "sold", True, False),
        ("eq", "sold", 0, False),
        ("eq", "é\"'$.x", "ü", True),
        ("eq", "none", "null", False),
        ("ne", "none", "null", True),
        ("ne", "colour", "red", True),
        ("ne", "colour", "blue", False),
        ("ne", "sold", 0, True),
        ("gt", "year", 2023, True),
        ("gt", "year", 2024, False),
        ("gte", "year", 2024, True),
        ("lt", "year", 10**30, True),
        ("lt", "year", float("inf"), True),
        ("in", "year", [float("inf"), 2024], True),
        ("gt", "year", -(10**30), True),
        ("lt", "price", 10, True),
        ("lte", "price", 9.5, True),
        ("lt", "on", "2024-06-01", True),
        ("gt", "on", "2024-06-01", False),
        ("gt", "colour", "Z", True),
        ("gt", "year", "2000", False),
        ("lt", "colour", 5, False),
        ("in", "colour", ["red", "blue"], True),
        ("in", "colour", [], False),
        ("nin", "colour", [], True),
        ("in", "sold", [0, 1], False),
        ("in", "sold", ["x", 3, False], True),
        ("in", "year", ["2024", 2024.0], True),
        ("nin", "year", [2023, 2025], True),
        ("nin", "year", [2024], False),
        ("eq", "absent", "x", False),
        ("ne", "absent", "x", True),
        ("lte", "absent", 5, False),
        ("in", "absent", ["x"], False),
        ("nin", "absent", ["x"], True),
        pytest.param("lt", "year", 10**400, True, id="huge"),
    ],
)
def test_comparisons(kind: str, key: str, value: Any, found: bool, blue: Callable[[Any], bool]) -> None:
    assert blue(compare(kind, key, value)) is found


YES, NO = compare("eq", "colour", "blue"), compare("eq", "colour", "red")


def both(*inner: Any) -> dict[str, Any]:
    return {"type": "and", "filters": list(inner)}


def either(*inner: Any) -> dict[str, Any]:
    return {"type": "or", "filters": list(inner)}


def nested(depth: int) -> Any:
    return both(nested(depth - 1)) if depth else YES


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (both(YES, YES), True),
        (both(YES, NO), False),
        (either(YES, NO), True),
        (either(NO, NO), False),
        (both(), True),
        (either(), False),
        (both(YES, either(NO, both(YES))), True),
        (either(NO, both(YES, either(NO))), False),
        (nested(16), True),
        (both(*[YES] * 500), True),
        (either(*[NO] * 500), False),
        (compare("nin", "colour", ["red"] * 500), True),
    ],
)
def test_compounds(wanted: Any, found: bool, blue: Callable[[Any], bool]) -> None:
    assert blue(wanted) is found


def test_files_have_their_own_attributes_and_other_chunks_each_its_own(make_user: Callable[..., Actor]) -> None:
    ann = make_user("ann")
    db = make_db(ann)
    add(db, "file", {"page": 1, "colour": "red"}, {"page": 2, "colour": "red"})
    file = files.create(ann, NewFile("kettle.txt", "assistants"), [b"kettle"])
    VectorDocument.objects.filter(vector_db_id=db).update(file_id=file.key, metadata={"colour": "blue"})
    add(db, "other", {"page": 1, "colour": "red"}, {"page": 2, "colour": "blue"})

    assert selected(db, compare("eq", "colour", "blue")) == ["file 0", "file 1", "other 1"]
    assert selected(db, compare("eq", "page", 1)) == ["other 0"]
    assert selected(db, compare("ne", "page", 1)) == ["file 0", "file 1", "other 1"]


# --------------------------------------------------------------------------------------------- any values

OURS: list[Any] = [True, False, 0, 1, -1, 1.0, 0.5, -0.25, "", "a", "A", "b", "ä", "1", "true", None, [1], {"a": 1}]
THEIRS = st.one_of(st.sampled_from(["", "a", "A", "z", "ä", "1", "true"]), st.integers(-1, 1), st.booleans())
ORDERS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


def kind_of(value: Any) -> type | None:
    if isinstance(value, bool):
        return bool
    return float if isinstance(value, int | float) else str if isinstance(value, str) else None


def expected(kind: str, ours: Any, theirs: Any) -> bool:
    if kind in ("ne", "nin"):
        return not expected({"ne": "eq", "nin": "in"}[kind], ours, theirs)
    if kind == "in":
        return any(expected("eq", ours, item) for item in theirs)
    if kind_of(ours) is not kind_of(theirs):
        return False
    return bool(ours == theirs) if kind == "eq" else bool(ORDERS[kind](ours, theirs))


def test_any_comparison_is_as_defined(make_user: Callable[..., Actor]) -> None:
    db = make_db(make_user("ann"))
    add(db, "one", *({"a": ours} for ours in OURS))

    @given(theirs=THEIRS, more=st.lists(THEIRS, max_size=3), kind=st.sampled_from(filters.TYPES))
    def check(theirs: Any, more: list[Any], kind: str) -> None:
        if isinstance(theirs, bool) and kind in ORDERS:
            return
        value = more if kind in ("in", "nin") else theirs
        found = [f"one {number}" for number, ours in enumerate(OURS) if expected(kind, ours, value)]
        assert selected(db, compare(kind, "a", value)) == found

    check()
