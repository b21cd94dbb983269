"""One call that two traces report is one call in the log, whichever of them comes first."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.store import listing, rows
from agents.query.parser import read
from agents.record.models.choices import StepType
from agents.record.models.turns import Step, Turn
from agents.telemetry.models.traces import SharedMark
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.reading.turns import build_turns
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from agents.telemetry.store.external.related_traces import MAX_REPORTS
from agents.telemetry.store.external.trace_deletion import delete_traces_of_turns
from tests.telemetry.reading import captures, reports

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


CHAT: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m1"}


def client(trace: int, answer: str = "msg_1", at: float = 2.0) -> Any:
    """The span of a client library: a trace of its own, and no words."""
    named: dict[str, Any] = {
        "gen_ai__response__id": answer,
        "gen_ai__usage__input_tokens": 30,
        "gen_ai__usage__output_tokens": 5,
    }
    return reports.span(trace, 9, "messages.create", at=at, takes=0.5, **CHAT, **named)


def framework(trace: int, answer: str = "msg_1", at: float = 0.0) -> list[Any]:
    """A turn whose last call has words and no tokens."""
    first, tool, last, root = reports.turn(trace, at=at)
    last["attributes"] += reports.attributes({"gen_ai.response.id": answer})
    return [first, tool, last, root]


def bare(trace: int, answer: str = "msg_1", at: float = 1.5) -> Any:
    """The same call, with words and no agent above."""
    words: dict[str, Any] = {
        "gen_ai__input__messages": reports.text("user", "How warm?"),
        "gen_ai__output__messages": reports.text("assistant", "It is 18 degrees."),
    }
    return reports.span(trace, 8, "chat", at=at, takes=2.0, gen_ai__response__id=answer, **CHAT, **words)


def tell(actor: Actor, *requests: list[Any]) -> None:
    for spans in requests:
        inbox.accept(actor, traces_from_json(reports.request(*spans)).spans)
    projector.wake()


def turns(actor: Actor) -> list[tuple[Any, ...]]:
    found = rows.of("turn", listing.page(actor, read("", now_us=0, level="turn")).keys[::-1])
    return [
        (turn.input_preview, turn.output_preview, turn.usage.input_tokens, turn.usage.output_tokens) for turn in found
    ]


ONE = [("How warm is it?", "It is 18 degrees.", 20 + 30, 5 + 5)]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_framework_and_its_client_in_any_order(me: Actor, order: tuple[int, ...]) -> None:
    *steps, root = framework(1)
    parts = [steps, [root], [client(2)]]
    for position in order:
        tell(me, parts[position])
    assert turns(me) == ONE


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_both_in_one_pass(me: Actor, order: tuple[int, ...]) -> None:
    parts = [framework(1), [client(2)]]
    tell(me, *(parts[position] for position in order))
    assert turns(me) == ONE


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_calls_without_an_agent_and_their_client(me: Actor, order: tuple[int, ...]) -> None:
    """Each is a trace of its own; the second call knows the answer of the first."""
    again = bare(3, "msg_2", at=10.0)
    history = [
        {"role": "user", "content": "How warm?"},
        {"role": "assistant", "content": "It is 18 degrees."},
        {"role": "user", "content": "And tomorrow?"},
    ]
    again["attributes"] = [one for one in again["attributes"] if one["key"] != "gen_ai.input.messages"]
    again["attributes"] += reports.attributes({"gen_ai.input.messages": str(history).replace("'", '"')})
    parts = [[bare(1)], [client(2)], [again], [client(4, "msg_2", at=11.0)]]
    for position in order:
        tell(me, parts[position])
    assert turns(me) == [
        ("How warm?", "It is 18 degrees.", 30, 5),
        ("And tomorrow?", "It is 18 degrees.", 30, 5),
    ]
    assert Turn.objects.unscoped("test").values("session").distinct().count() == 1


def test_a_turn_that_is_deleted_takes_the_clients_report_with_it(me: Actor) -> None:
    tell(me, framework(1), [client(2)])
    assert SharedMark.objects.count() == 2
    delete_traces_of_turns(list(Turn.objects.unscoped("test").values_list("pk", flat=True)))
    assert SharedMark.objects.count() == 0


def test_a_fake_model_whose_answers_have_one_id(me: Actor) -> None:
    """What so many traces report is no id: they are not read together, and no call is lost."""
    for trace in range(1, MAX_REPORTS + 4):
        tell(me, framework(trace, at=trace * 60.0))
    assert len(turns(me)) == MAX_REPORTS + 3
    assert Step.objects.unscoped("test").filter(type=StepType.INFERENCE).count() == 2 * (MAX_REPORTS + 3)


CAPTURES = [
    "anthropic_openinference__two-turns",
    "anthropic_openllmetry__two-turns",
    "google_genai__two-turns",
    "langchain_anthropic__two-turns",
    "logfire_anthropic__two-turns",
    "mastra__two-turns",
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CAPTURES)
def test_what_real_senders_sent_in_any_order_and_portions(me: Actor, name: str, seed: int) -> None:
    chance = random.Random(seed)
    spans = captures.spans(name)
    expected = [(turn.input[-1].content, turn.output and turn.output.content) for turn in build_turns(spans)]
    chance.shuffle(spans)
    while spans:
        count = chance.randint(1, 5)
        inbox.accept(me, [*spans[:count], *spans[:1]])
        projector.wake()
        del spans[:count]
    found = (
        Turn.objects.unscoped("test").order_by("started_at").values_list("body__input_messages", "body__output_message")
    )
    assert [
        (json.loads(asked)[-1]["content"], json.loads(answered)["content"]) for asked, answered in found
    ] == expected
    calls = Step.objects.unscoped("test").filter(type=StepType.INFERENCE)
    assert calls.count() == 2 * len(expected)
    assert Turn.objects.unscoped("test").values("session").distinct().count() == 1
