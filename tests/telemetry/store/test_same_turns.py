"""A turn that a coding agent sends live, and has in its session file, is one turn, whichever comes first."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from agents.base.access import Actor
from agents.base.store import keys
from agents.record.models.agents import Session
from agents.record.models.turns import Turn
from agents.record.store.deletion import delete_turns
from agents.telemetry.reading.conversation_links import links_of
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from tests.telemetry.reading import captures
from tests.telemetry.reading.sample_spans import SECOND, START, span

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def turns() -> list[dict[str, Any]]:
    names = ("source", "status", "input_tokens", "output_tokens", "cost_nano", "session__name", "agent__name")
    shown = ("body__input_preview", "body__output_preview", "step_count", "tool_count")
    return list(Turn.objects.unscoped("test").order_by("started_at").values(*names, *shown))


def send(actor: Actor, spans: list[Span]) -> None:
    inbox.accept(actor, spans)
    projector.wake()


@pytest.mark.parametrize("seed", range(6))
def test_claude_code_live_and_from_its_file(me: Actor, make_user: Callable[..., Actor], seed: int) -> None:
    """Both captures are of one run."""
    live, file = captures.spans("claude_code__two-turns"), captures.session_spans("claude_code")
    send(me, live)
    only_live = turns()
    ids = list(Turn.objects.unscoped("test").order_by("pk").values_list("pk", flat=True))
    send(me, file)
    both = turns()
    for name in ("source", "input_tokens", "output_tokens", "cost_nano", "session__name", "agent__name"):
        assert [turn[name] for turn in both] == [turn[name] for turn in only_live], name
    assert [turn["body__output_preview"] for turn in both] == ["Done. The tool answered.", "Hello from the fake model."]
    assert list(Turn.objects.unscoped("test").order_by("pk").values_list("pk", flat=True)) == ids
    delete_turns(ids)
    others, other = [*live, *file], make_user("somebody else")
    random.Random(seed).shuffle(others)
    while others:
        send(other, others[:4])
        del others[:4]
    assert turns() == both
    assert Session.objects.unscoped("test").filter(owner_id=other.user_id).count() == 1


def test_a_forked_session_of_claude_code_counts_its_turns_once(me: Actor) -> None:
    file = captures.session_spans("claude_code")
    send(me, file)
    before = turns()
    send(me, [forked(one) for one in file])
    assert turns() == before
    again = [one for one in map(forked, file) if one.attributes.get("kind") == "turn"][:1]
    new = replace(again[0], trace="other:p9", id="p9", attributes={**again[0].attributes, "prompt_id": "p9"})
    send(me, [new])
    assert len(turns()) == len(before) + 1


def forked(one: Span) -> Span:
    """The same line of a file that another session has, too."""
    attributes = {**one.attributes, "session": "zz-other"} if "session" in one.attributes else one.attributes
    return replace(one, trace="zz-other:" + one.trace.partition(":")[2], attributes=attributes)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_codex_live_and_from_its_file(me: Actor, order: tuple[int, int]) -> None:
    live = span("turn", name="session_task.turn", scope="codex_exec", trace="ab" * 16, took=9)
    live.attributes = {"turn.id": "u1", "model": "gpt", "codex.turn.token_usage.input_tokens": 7}
    file = Span("s:u1", "u1", start_ns=START, end_ns=START + 9 * SECOND, format="codex", name="turn")
    file.attributes = {"kind": "turn", "session": "s", "turn_id": "u1", "input": "Read it.", "output": "Read."}
    for position in order:
        send(me, [(live, file)[position]])
    [turn] = turns()
    assert (turn["body__input_preview"], turn["body__output_preview"]) == ("Read it.", "Read.")


def test_a_live_report_and_a_file_that_are_read_in_one_pass(me: Actor) -> None:
    send(me, [*captures.spans("claude_code__two-turns"), *captures.session_spans("claude_code")])
    assert [turn["body__output_preview"] for turn in turns()] == [
        "Done. The tool answered.",
        "Hello from the fake model.",
    ]


def test_turns_of_a_file_whose_calls_spend_the_same_are_read_by_themselves(me: Actor) -> None:
    """Together they would be read again with each turn that follows: a long session would take hours."""
    by_trace: dict[str, list[Span]] = {}
    for one in captures.session_spans("claude_code"):
        attributes = {**one.attributes, "usage": {"input_tokens": 7, "output_tokens": 5}}
        times = {"start_ns": START, "end_ns": START + SECOND} if "usage" in one.attributes else {}
        by_trace.setdefault(one.trace, []).append(replace(one, attributes=attributes, **times))
    first, second = (links_of(spans).reports for spans in by_trace.values())
    assert first
    assert second
    assert first.isdisjoint(second)
