"""Feedback goes out with the turns it is on, and comes in with them: once, however often."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.feedback.store import feedback
from agents.feedback.store.feedback import FeedbackContent
from agents.record.store import targets
from agents.record.store.targets import RecordTarget
from tests.support.builders import Recorded, make_turn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]


def logs(*given: object) -> str:
    said = io.StringIO()
    call_command("logs", *map(str, given), stdout=said, stderr=io.StringIO())
    return said.getvalue()


@pytest.fixture
def judged(admin: Actor) -> Recorded:
    """A turn with a rating and a comment, a score, and a score on its step."""
    turn = make_turn(admin, "say Hello.")
    target = targets.find(admin, "turn", turn.public_id)
    step = next(entry.step for entry in turn.entries if hasattr(entry, "step"))
    said = [
        FeedbackContent(rating="down", comment="=Wrong price", author="ana"),
        FeedbackContent(name="tone", value=-1),
    ]
    feedback.submit(admin, target, said)
    feedback.submit(admin, RecordTarget(turn.session, turn.turn, step), [FeedbackContent(name="helpful", value=0.5)])
    return turn


def said_to(client: Client, actor: Actor, q: str = "") -> list[dict[str, Any]]:
    """The feedback that an actor sees, without ids."""
    _, secret = keys.create(actor, name="key", actions=["read"])
    page = client.get("/v1/feedback", {"q": q, "order": "asc"}, headers={"Authorization": f"Bearer {secret}"}).json()
    kept = ("rating", "score", "comment", "user", "created_at", "updated_at")
    return [{name: entry[name] for name in kept} | {"on_step": bool(entry["step_id"])} for entry in page["data"]]


def by_content(entries: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(entry, sort_keys=True) for entry in entries)


@pytest.mark.parametrize("form", [("--whole",), ("--format", "otlp")])
def test_it_goes_out_and_comes_in(
    client: Client,
    admin: Actor,
    judged: Recorded,
    make_user: Callable[..., Actor],
    tmp_path: Path,
    form: tuple[str, ...],
) -> None:
    file = tmp_path / "turns.jsonl"
    logs("export", *form, "--out", file)
    other = make_user("other", teams=["blue"])
    before = by_content(said_to(client, admin))
    assert "1 new, 0 known, 0 changed" in logs("import", file, "--user", "other")
    assert len(before) == 3
    assert by_content(said_to(client, other)) == before
    assert "0 new, 1 known, 0 changed" in logs("import", file, "--user", "other")
    assert by_content(said_to(client, other)) == before


def test_what_was_said_later_comes_with_a_later_file(
    client: Client, admin: Actor, judged: Recorded, make_user: Callable[..., Actor], tmp_path: Path
) -> None:
    file, other = tmp_path / "turns.jsonl", make_user("other", teams=["blue"])
    logs("export", "--whole", "--out", file)
    logs("import", file, "--user", "other")
    feedback.submit(admin, targets.find(admin, "turn", judged.public_id), [FeedbackContent(name="tone", value=1)])
    logs("export", f"id:{judged.public_id}", "--whole", "--out", file)
    assert "0 new, 0 known, 1 changed" in logs("import", file, "--user", "other")
    assert by_content(said_to(client, other)) == by_content(said_to(client, admin, f"id:{judged.public_id}"))


def test_files_of_opentelemetry_have_it_as_results_of_evaluations(judged: Recorded) -> None:
    body = logs("export", "--format", "otlp")
    [spans] = [scope["spans"] for scope in json.loads(body)["resourceSpans"][0]["scopeSpans"]]
    root, *steps = [span.get("events", []) for span in spans]
    assert [event["name"] for event in root] == ["gen_ai.evaluation.result"] * 2
    [helpful] = [event for events in steps for event in events]
    attributes = {pair["key"]: pair["value"] for pair in helpful["attributes"]}
    assert attributes["gen_ai.evaluation.name"] == {"stringValue": "helpful"}
    assert attributes["gen_ai.evaluation.score.value"] == {"doubleValue": 0.5}


def test_tables_have_it_in_columns(judged: Recorded) -> None:
    fields = "id,feedback.down,feedback.comments,feedback.scores"
    table = logs("export", "--format", "csv", "--fields", fields)
    assert table.splitlines() == [fields, f'{judged.public_id},1,1,"{{""tone"":-1.0}}"']


HOSTILE = [{"id": ""}, {"created_at": "soon"}, {"rating": "sideways"}, {"value": "much"}]


@pytest.mark.parametrize("change", HOSTILE)
def test_a_record_with_feedback_that_is_none_is_refused(
    judged: Recorded, make_user: Callable[..., Actor], tmp_path: Path, change: dict[str, Any]
) -> None:
    make_user("other", teams=["blue"])
    good = logs("export", "--whole")
    line = json.loads(good)
    line["record"]["feedback"][0] |= change
    file = tmp_path / "turns.jsonl"
    file.write_text(good + json.dumps(line) + "\n")
    assert f"{file}:2: record.feedback.0.{next(iter(change))}: " in logs("import", file, "--user", "other")
