"""Guarded tables answer no query that does not say on whose behalf it runs, whatever its form."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Count
from django.template import Context, Engine
from django.test.utils import CaptureQueriesContext

from agents.base.access import Actor
from agents.base.models.scoped import Scoped, ScopedQuerySet, UnscopedQuery
from agents.record.models.agents import Agent, Session
from agents.record.models.turns import Step, Turn
from tests import ROOT
from tests.support.builders import Recorded, make_turn


@pytest.fixture
def made(admin: Actor) -> Recorded:
    return make_turn(admin)


# what a query can be made to do: each of it would run
RUNS: dict[str, Callable[[Any], object]] = {
    "iterate": list,
    "index": lambda rows: rows[0],
    "slice": lambda rows: list(rows[:1]),
    "len": len,
    "bool": bool,
    "repr": repr,
    "in": lambda rows: object() in rows,
    "get": lambda rows: rows.get(),
    "first": lambda rows: rows.first(),
    "last": lambda rows: rows.last(),
    "latest": lambda rows: rows.latest("pk"),
    "iterator": lambda rows: list(rows.iterator(chunk_size=10)),
    "in_bulk": lambda rows: rows.in_bulk(),
    "values": lambda rows: list(rows.values()),
    "values_list": lambda rows: list(rows.values_list("pk", flat=True)),
    "only": lambda rows: list(rows.only("pk")),
    "filter": lambda rows: list(rows.filter(pk__gt=0)),
    "exclude": lambda rows: list(rows.exclude(pk=0)),
    "order": lambda rows: list(rows.order_by("pk")),
    "distinct": lambda rows: list(rows.distinct()),
    "annotate": lambda rows: list(rows.annotate(how_many=Count("*"))),
    "count": lambda rows: rows.count(),
    "exists": lambda rows: rows.exists(),
    "aggregate": lambda rows: rows.aggregate(Count("pk")),
    "update": lambda rows: rows.update(pk=1),
    "delete": lambda rows: rows.delete(),
    "raw_delete": lambda rows: rows._raw_delete("default"),
    "get_or_create": lambda rows: rows.get_or_create(pk=1),
    "update_or_create": lambda rows: rows.update_or_create(pk=1),
    "explain": lambda rows: rows.explain(),
    "raw": lambda rows: list(rows.raw(f"SELECT * FROM {rows.model._meta.db_table}")),
    "union": lambda rows: list(scoped(rows).union(rows)),
    "union of it": lambda rows: list(rows.union(scoped(rows))),
    "intersection": lambda rows: list(scoped(rows).intersection(rows)),
    "difference": lambda rows: list(scoped(rows).difference(rows)),
    "or": lambda rows: list(scoped(rows) | rows),
    "and": lambda rows: list(scoped(rows) & rows),
    "xor": lambda rows: list(scoped(rows) ^ rows),
    "or with nothing": lambda rows: list(rows.unscoped("test").none() | rows),
    "inside another": lambda rows: list(scoped(rows).filter(pk__in=rows)),
}


UNFIT = {"raw", "raw_delete", "update", "get_or_create", "update_or_create"}
"""Refused always, or of no use on a whole table."""


def scoped(rows: Any) -> Any:
    return rows.unscoped("test").filter(pk__gt=0)


def guarded_models() -> list[Any]:
    return [model for model in apps.get_app_config("agents").get_models() if is_guarded(model)]


def is_guarded(model: Any) -> bool:
    return isinstance(model._default_manager.all(), ScopedQuerySet)


ROOTS = {
    *("Agent", "Session", "Turn", "VectorDB", "File", "ToolGroup", "Shield", "RegisteredModel", "ChatCompletion"),
    *("SavedView", "Trace", "Import", "WebhookEndpoint", "Prompt", "Budget", "Automation", "Upload", "RequestBatch"),
}


def test_all_that_belongs_to_someone_is_guarded() -> None:
    names = {model.__name__ for model in guarded_models()}
    assert names == {*ROOTS, "TurnBody", "Response", "Step", "Item", "Fork", "AgentCall", "HandOver"}
    owned = {model.__name__ for model in apps.get_models() if issubclass(model, Scoped)}
    assert owned == ROOTS


@pytest.mark.django_db
@pytest.mark.parametrize("run", RUNS)
def test_an_unscoped_query_never_runs(run: str) -> None:
    for model in guarded_models():
        with CaptureQueriesContext(connection) as seen, pytest.raises(UnscopedQuery):
            RUNS[run](model.objects.all())
        assert not [query for query in seen.captured_queries if model._meta.db_table in query["sql"]]


@pytest.mark.django_db
@pytest.mark.parametrize("run", sorted(set(RUNS) - UNFIT))
def test_the_same_query_runs_once_it_is_scoped(run: str, made: Recorded) -> None:
    """The list above would else hold forms that fail for another reason."""
    RUNS[run](Turn.objects.unscoped("test"))


@pytest.mark.django_db
def test_rows_reached_through_another_row_are_guarded_too(made: Recorded) -> None:
    turn = Turn.objects.unscoped("test").get(pk=made.turn)
    for related in (turn.steps, turn.session.turns, turn.children, turn.responses, turn.items):
        with pytest.raises(UnscopedQuery):
            related.count()
    with pytest.raises(UnscopedQuery):
        list(Turn.objects.unscoped("test").prefetch_related("steps"))


@pytest.mark.django_db
def test_asynchronous_queries_are_guarded_too(made: Recorded, run_async: Callable[[Any], Any]) -> None:
    async def rows(query: Any) -> list[Any]:
        return [row async for row in query]

    for query in (lambda: Turn.objects.all(), lambda: Turn.objects.aiterator()):
        with pytest.raises(UnscopedQuery):
            run_async(rows(query()))
    for ask in ("acount", "aexists", "afirst"):
        with pytest.raises(UnscopedQuery):
            run_async(getattr(Turn.objects, ask)())


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        "{% for row in rows %}{{ row.pk }}{% endfor %}",
        "{% if rows %}some{% endif %}",
        "{{ rows }}",
        "{{ rows.count }}",
        "{{ rows.0 }}",
        "{{ rows|length }}",
        "{{ rows|first }}",
        "{{ turn.steps.count }}",
    ],
)
def test_a_template_cannot_run_one_either(text: str, made: Recorded) -> None:
    turn = Turn.objects.unscoped("test").get(pk=made.turn)
    template = Engine().from_string(text)
    with pytest.raises(UnscopedQuery):
        template.render(Context({"rows": Turn.objects.all(), "turn": turn}))


@pytest.mark.django_db
def test_nothing_is_lost_on_the_way_of_a_scoped_query(made: Recorded, admin: Actor) -> None:
    rows = Turn.objects.visible_to(admin)
    assert rows.filter(pk=made.turn).exclude(pk=1).order_by("pk").values_list("pk", flat=True).get() == made.turn
    assert (rows & Turn.objects.visible_to(admin)).count() == 1
    assert rows.union(Turn.objects.visible_to(admin)).count() == 1
    assert Session.objects.visible_to(admin).filter(turns__in=rows).count() == 1
    assert Step.objects.visible_to(admin).filter(turn__in=rows).exists()
    assert Agent.objects.visible_to(admin).filter(pk=made.agent.key).exists()


# ----------------------------------------------------------------------------------------- the source

OPEN_ROLES = {"store", "store.py", "models", "models.py", "admin", "admin.py", "admin_forms.py", "demo", "migrations"}
"""Where rows may be read on nobody's behalf: whoever calls these has been let in, or acts for the server."""
BACK_DOORS = {"unscoped", "all_objects", "_base_manager", "_default_manager", "_raw_delete"}


def sources() -> Iterator[Path]:
    for folder in ("agents", "agentsite"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not OPEN_ROLES & set(path.relative_to(ROOT).parts):
                yield path


def test_no_edge_reads_rows_on_nobodys_behalf() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.attr}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in BACK_DOORS
    ]
    assert found == []


WORDS_OF_TABLES = {
    *("LIVE", "CompletionStatus", "Api", "ChangeKind", "Source", "StepStatus", "StepType", "TurnStatus"),
    *("BudgetPeriod", "BudgetTarget", "RESPONSE_STATUSES"),
}


def test_no_edge_touches_a_table() -> None:
    """The edges and the runner know the words of columns, no model classes."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name.name}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and re.match(r"agents\.(\w+\.)?models\b", node.module or "")
        for name in node.names
        if name.name not in WORDS_OF_TABLES
    ]
    assert found == []


def test_every_unscoped_query_gives_a_reason() -> None:
    for path in sorted((ROOT / "agents").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unscoped":
                reason = node.args[0] if node.args else None
                given = isinstance(reason, ast.Constant) and isinstance(reason.value, str) and len(reason.value) > 3
                assert given, f"{path.relative_to(ROOT)}:{node.lineno}"
