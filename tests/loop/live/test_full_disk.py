"""The database's disk is full in the middle of turns, and while a turn is to be taken over: what runs is kept until
there is room, and what lost its process goes on then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.support.live.caller import Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import database, eventually
from tests.support.live.two_servers import MARKS, through, two_servers
from tests.support.live.typed_turns import assert_whole, entries, typed

pytestmark = [*MARKS, pytest.mark.timeout(300)]

FULL_FUNCTION = """
CREATE FUNCTION finds_no_room() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$
"""
FILL = "CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {} FOR EACH STATEMENT EXECUTE FUNCTION finds_no_room()"
EMPTY = "DROP TRIGGER full_disk ON {}"


@contextmanager
def disk(url: str) -> Iterator[psycopg.Connection]:
    """A database whose tables find no room with the first write from now on: they say so as PostgreSQL does."""
    with psycopg.connect(url, autocommit=True) as control:
        control.execute(FULL_FUNCTION)
        yield control


def on_all_tables(control: psycopg.Connection, statement: str) -> None:
    names = control.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'agents\\_%'").fetchall()
    with control.transaction():
        for (name,) in names:
            control.execute(sql.SQL(statement).format(sql.Identifier(name)))


def test_turns_go_on_once_there_is_room(tmp_path: Path, held: HeldModel) -> None:
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
    with (
        database(empty=False) as where,
        two_servers(folders, {**held.environment, **where}) as (dies, stays),
        disk(where["DATABASE_URL"]) as control,
    ):
        caller, question = Caller(stays.port), held.hold()
        talk = Talk(Caller(dies.port), model="held/held")
        turn, there = talk.begin(question.question), through(caller, talk)
        eventually(lambda: question.asked)
        with typed(caller, held) as (beside, typist, reading):
            on_all_tables(control, FILL)
            dies.kill()
            question.end()
            eventually(lambda: "the store is full" in stays.log)
            refused = caller.post("/v1/agents", {"agent_config": {"model": "scripted/fast", "instructions": "x"}})
            assert (refused.status, refused.headers.get("retry-after", "").isdecimal()) == (503, True)
            assert caller.get("/v1/agents").status == 200
            eventually(lambda: caller.get("/readyz").status == 503)  # what was found before is told for a moment
            seen = len(reading.text)
            eventually(lambda: len(reading.text) > seen + 20)
            assert len(question.asked) == 1
            on_all_tables(control, EMPTY)
            eventually(lambda: len(question.asked) == 2)
            question.end("Done.")
            answer = typist.finish()
            assert_whole(stays, beside, reading.all(), answer)
        over = eventually(lambda: (told := there.turn(turn))["status"] == "completed" and told)
        assert over["output_message"]["content"] == "Done."
        taken = [entry for entry in entries(stays, turn) if entry.get("type") == "turn.taken_over"]
        assert len(taken) == 1
        dies.start()
