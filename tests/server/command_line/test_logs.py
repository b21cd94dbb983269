"""``manage.py logs``: under the same queries, as the local admin."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from agents.base import ids
from agents.base.store import changes, keys
from agents.query.parser import parse
from agents.record.models.turns import Turn
from agents.record.store import reindexing, targets
from agents.record.store.targets import RecordTarget
from agents.server.command_line import tailing
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_session, make_turn

pytestmark = pytest.mark.django_db


def logs(*given: str, **more: Any) -> str:
    said = io.StringIO()
    call_command("logs", *given, stdout=said, stderr=io.StringIO(), **more)
    return said.getvalue()


def listed(*given: str) -> list[str]:
    return [json.loads(line)["id"] for line in logs("list", "--format", "jsonl", *given).splitlines()]


@pytest.fixture
def turns() -> list[str]:
    """Three turns, the last one failed."""
    actor = keys.local()
    agent = make_agent(actor, name="support")
    session = make_session(actor, agent)
    script = 'call search {"query": "kettle"}\nthen\nsay Found a kettle.'
    found = [
        make_turn(actor, "say Hello.\n# hello there", agent=agent, session=session, metadata={"tier": "gold"}),
        make_turn(actor, script, agent=agent, session=session, server_tools=tool("search")),
        make_turn(actor, "fail 504 upstream timed out", agent=agent, session=session),
    ]
    return [each.public_id for each in found]


def test_it_lists_what_a_query_selects(turns: list[str]) -> None:
    assert listed() == turns[::-1]
    assert listed("status:failed") == turns[2:]
    assert listed("-status:failed", "tool:search") == [turns[1]]
    assert listed("--limit", "1") == [turns[2]]
    table = logs("list", "status:failed")
    assert turns[2] in table
    assert "upstream timed out" in table
    assert len(logs("list", "--level", "step", "type:tool").splitlines()) == 1


def test_an_error_points_at_its_place(turns: list[str]) -> None:
    with pytest.raises(CommandError) as told:
        logs("list", "agent:support statsu:failed")
    lines = str(told.value).splitlines()
    assert lines[1:3] == ["agent:support statsu:failed", f"{' ' * 14}^"]
    assert lines[3] == "Did you mean: agent:support status:failed"


def test_it_exports(turns: list[str], tmp_path: Path) -> None:
    file = tmp_path / "turns.csv"
    logs("export", "status:failed", "--format", "csv", "--fields", "id,status", "--out", str(file))
    assert file.read_bytes() == f"id,status\r\n{turns[2]},failed\r\n".encode()
    whole = [json.loads(line) for line in logs("export", "--whole").splitlines()]
    assert [row["turn"]["turn_id"] for row in whole] == turns[::-1]
    with pytest.raises(CommandError, match="format: jsonl, csv or parquet"):
        logs("export", "--format", "xls")
    with pytest.raises(CommandError, match="parquet is no text: name a file with --out"):
        logs("export", "--format", "parquet")


def test_it_tags(turns: list[str]) -> None:
    assert logs("tag", "status:failed", "+vip", "+slow") == "Tagged 1.\n"
    assert listed("tag:vip") == turns[2:]
    assert logs("tag", "tag:vip", "-vip", "+old") == "Tagged 1.\n"
    assert listed("tag:(old AND slow) -tag:vip") == turns[2:]
    with pytest.raises(CommandError, match="write \\+tag"):
        logs("tag", "", "vip")


def test_it_deletes_after_asking(turns: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "no")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        logs("delete", "status:failed")
    assert logs("delete", "status:failed", "--yes") == "Deleted 1.\n"
    assert listed() == [turns[1], turns[0]]
    assert logs("delete", "status:failed", "--yes") == "Nothing matches.\n"
    monkeypatch.setattr("builtins.input", lambda _: "delete")
    assert logs("delete", "--level", "session").endswith("Deleted 1.\n")
    assert listed() == []


def test_what_runs_is_not_deleted(turns: list[str]) -> None:
    make_turn(keys.local(), upto=1)
    assert logs("delete", "--yes") == "Deleted 3. 1 left alone: they run.\n"
    assert len(listed()) == 1


def test_it_sums(turns: list[str]) -> None:
    found = json.loads(logs("stats", "--json", "agent:support"))
    assert (found["count"], found["failed"]) == (3, 1)
    assert "failure rate  33.3%" in logs("stats")
    assert logs("stats", "--by", "status").count("count") == 2
    with pytest.raises(CommandError):
        logs("stats", "--by", "nothing")


def test_it_follows(turns: list[str]) -> None:
    begun = logs("tail", "--last", "2", "--limit", "2", "--json").splitlines()
    assert [json.loads(line)["id"] for line in begun] == turns[1:]


def test_each_row_comes_when_it_fits_and_when_its_status_changes() -> None:
    actor = keys.local()
    query = parse("tag:vip", now_us=ids.now_us())
    turn, seq = make_turn(actor, upto=1), changes.latest()
    waits = itertools.count()

    def wait(_: float) -> None:
        about = RecordTarget(turn.session, turn.turn)
        match next(waits):
            case 0:
                targets.change_tags(about, add=["vip"])
            case 1:
                targets.change_tags(about, add=["another"])
            case _:
                Turn.objects.unscoped("a test's").filter(pk=turn.turn).update(status=7)
                targets.change_tags(about, add=["third"])

    found = list(itertools.islice(tailing.follow(actor, query, seq, wait), 2))
    assert [row.status for row in found] == ["in_progress", "interrupted"]
    assert next(waits) == 3


def documents() -> list[tuple[Any, ...]]:
    key = "rowid" if connection.vendor == "sqlite" else "id"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {key}, input, output, problem, metadata, steps FROM agents_turn_search ORDER BY {key}")
        turns = cursor.fetchall()
        cursor.execute(f"SELECT {key}, said, args, result, problem FROM agents_step_search ORDER BY {key}")
        return [*turns, *cursor.fetchall()]


def test_documents_made_anew_are_those_that_were_written(turns: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = documents()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM agents_turn_search")
        cursor.execute("DELETE FROM agents_step_search")
    assert listed("kettle") == []
    monkeypatch.setattr(reindexing, "TURNS_PER_JOB", 2)
    assert logs("reindex") == "The search documents are new.\n"
    assert documents() == before
    assert listed("kettle") == [turns[1]]
    assert logs("reindex", "--after", turns[2]) == "The search documents are new.\n"
    with pytest.raises(CommandError, match="not the id of a turn"):
        logs("reindex", "--after", "nonsense")
