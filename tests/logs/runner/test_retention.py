"""Rules of retention: what a preview counts is what a run deletes, archived before, and nothing that goes on."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, InvalidRequest, NotFound, QuerySyntax
from agents.base.models.changes import Change, ChangeKind
from agents.base.store import keys
from agents.logs.models.retention import RetentionReceipt
from agents.logs.runner import retention as running
from agents.logs.runner.background import RetentionBackground
from agents.logs.store import bulk, retention
from agents.logs.store.retention import StoredReceipt, StoredRule
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn, TurnBody
from tests.conftest import Clock
from tests.support.builders import Recorded, make_agent, make_session, make_turn
from tests.support.inprocess import idle_service

pytestmark = pytest.mark.django_db

DAY_S = 86_400.0
OLD = "agent:demo started:<-30d"


@dataclass(frozen=True)
class Log:
    """Sessions of the agent demo, and one of another agent, as the fixture describes them."""

    gone: list[Recorded]
    kept: list[Recorded]
    live: Recorded
    waiting: Recorded


@pytest.fixture
def me() -> Actor:
    return keys.local()


@pytest.fixture
def log(me: Actor, clock: Clock) -> Log:
    """An old session; one with an old and a new turn; a running and a waiting turn, both old; an old turn of another
    agent."""
    agent = make_agent(me, name="demo")
    old, both, first, second = (make_session(me, agent) for _ in range(4))
    gone = [make_turn(me, f"say old {number}", agent=agent, session=old) for number in range(3)]
    gone.append(make_turn(me, "say old, too", agent=agent, session=both))
    waiting = make_turn(me, agent=agent, session=first)
    Turn.objects.unscoped("a test's").filter(pk=waiting.turn).update(status=TurnStatus.AWAITING_INPUT)
    live = make_turn(me, agent=agent, session=second, upto=1)
    other = make_turn(me, agent=make_agent(me, name="other"))
    clock.pass_s(40 * DAY_S)
    new = make_turn(me, "say new", agent=agent, session=both)
    return Log(gone, [waiting, live, other, new], live, waiting)


def rule(query: str = OLD, **more: Any) -> StoredRule:
    return retention.add(StoredRule(more.pop("name", "old turns"), query, **more))


def stored() -> set[int]:
    return set(Turn.objects.unscoped("a test's").values_list("pk", flat=True))


def keys_of(turns: list[Recorded]) -> set[int]:
    return {turn.turn for turn in turns}


def test_a_run_deletes_what_its_preview_counts(me: Actor, log: Log) -> None:
    made = rule()
    preview = retention.preview(me, retention.parse(made.query))
    assert (preview.turns, preview.spared) == (4, 2)
    assert preview.sessions == {log.gone[0].session: 3}
    [receipt] = running.run(me, made)
    assert (receipt.turns, receipt.sessions, receipt.file) == (4, 1, "")
    assert stored() == keys_of(log.kept)
    assert not Session.objects.unscoped("a test's").filter(pk=log.gone[0].session).exists()
    assert Session.objects.unscoped("a test's").get(pk=log.gone[3].session).turn_count == 1
    noted = Change.objects.filter(kind=ChangeKind.TURN, deleted=True).values_list("key", flat=True)
    assert set(noted) == keys_of(log.gone)  # live lists drop them
    assert running.run(me, made) == []


def test_portions_have_receipts_of_their_own(me: Actor, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PORTION_TURNS", 2)
    monkeypatch.setattr("agents.logs.store.export.BATCH_ROWS", 2)
    monkeypatch.setattr(bulk, "BATCH_ROWS", 1)
    receipts = running.run(me, rule())
    assert sum(receipt.turns for receipt in receipts) == 4
    assert sum(receipt.sessions for receipt in receipts) == 1
    assert len(receipts) >= 2
    assert stored() == keys_of(log.kept)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_turns_are_archived_before_they_go(me: Actor, log: Log, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "archive"
    made = rule(archives_as=form, folder=str(folder), name="../old & \U0001f600")
    [receipt] = running.run(me, made)
    [file] = folder.iterdir()
    assert (receipt.turns, receipt.archived, receipt.file) == (4, 4, str(file))
    assert receipt.bytes == file.stat().st_size
    assert receipt.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (file.stat().st_mode & 0o077, folder.stat().st_mode & 0o077) == (0, 0)
    assert file.name.startswith("old-2")
    if form == "jsonl":
        lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
        assert lines[0]["turn"]["output_message"]["content"] == "old, too"
        found = [line["id"] for line in lines]
    else:
        found = pyarrow.parquet.read_table(file)["id"].to_pylist()
    assert set(found) == {turn.public_id for turn in log.gone}
    assert RetentionReceipt.objects.get().finished_at is not None


def test_nothing_goes_where_it_cannot_be_archived(me: Actor, log: Log, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    before = stored()
    with pytest.raises(OSError, match="exists"):
        running.run(me, rule(archives_as="jsonl", folder=str(tmp_path / "file")))
    assert stored() == before
    assert not RetentionReceipt.objects.exists()


def test_a_turn_that_is_no_json_is_not_deleted(me: Actor, log: Log, tmp_path: Path) -> None:
    body = TurnBody.all_objects.filter(turn_id=log.gone[0].turn)
    body.update(output_message='{"content": ')
    with pytest.raises(AgentsError, match="cannot be archived"):
        running.run(me, rule(archives_as="jsonl", folder=str(tmp_path / "archive")))
    assert stored() == keys_of([*log.gone, *log.kept])
    assert list((tmp_path / "archive").iterdir()) == []


def test_a_turn_that_goes_on_while_it_is_archived_stays(
    me: Actor, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file has it as it was before."""
    resumed = log.gone[1].turn
    save = retention.save_receipt

    def saved(receipt: StoredReceipt) -> None:
        rows = Turn.objects.unscoped("a test's").filter(pk=resumed)
        rows.update(next_seq=1_000)
        save(receipt)

    monkeypatch.setattr(retention, "save_receipt", saved)
    [receipt] = running.run(me, rule(archives_as="jsonl", folder=str(tmp_path)))
    assert (receipt.archived, receipt.turns, receipt.sessions) == (4, 3, 0)
    assert stored() == keys_of(log.kept) | {resumed}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"query": " "}, InvalidRequest),
        ({"query": "statsu:failed"}, QuerySyntax),
        ({"query": OLD, "name": ""}, InvalidRequest),
        ({"query": OLD, "name": "a\nb"}, InvalidRequest),
        ({"query": OLD, "archives_as": "xls"}, InvalidRequest),
        ({"query": OLD, "name": "taken"}, InvalidRequest),
    ],
)
def test_a_wrong_rule_is_refused(more: dict[str, Any], error: type[Exception]) -> None:
    rule(name="taken")
    with pytest.raises(error):
        rule(**more)
    retention.remove("taken")
    with pytest.raises(NotFound):
        retention.remove("taken")


@pytest.mark.django_db(transaction=True)
def test_a_server_runs_rules_once_an_hour(
    me: Actor, log: Log, clock: Clock, run_async: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    made, off = rule(), rule("agent:other", name="off", enabled=False)
    broken = rule(archives_as="jsonl", folder="/dev/null", name="a broken one")
    with idle_service() as service:
        background = RetentionBackground(service)
    assert run_async(background.expire()) == 4
    assert "'a broken one' failed" in caplog.text
    assert stored() == keys_of(log.kept)
    Turn.objects.unscoped("a test's").filter(pk=log.waiting.turn).update(status=TurnStatus.COMPLETED)
    clock.pass_s(1800)
    assert run_async(background.expire()) == 0
    clock.pass_s(1801)
    assert run_async(background.expire()) == 1
    assert retention.get(off.name).ran_at is None
    assert {retention.get(each.name).ran_at for each in (made, broken)} != {None}
    assert ids.now_us() == clock.now_us
