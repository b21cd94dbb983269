"""What a client sends while its turn runs: it is taken before the next inference, as a step, and a run that is taken
over takes it at the same place."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agents.loop.loop import Loop
from agents.loop.run import ClientInput, Run
from agents.record.schemas.content import UserMessage, text_of
from agents.record.schemas.events import USER_INPUT, Entry, Event, OtherDetail, StepEnded, TurnEnded, TurnTakenOver
from agents.safety.providers.scripted import PhraseShield
from tests.loop.play import events, items, kinds, make_run


class Sender:
    """Sends a message each time that the run has asked so often."""

    def __init__(self, *texts: str | None) -> None:
        self._texts = list(texts)

    async def read(self) -> ClientInput | None:
        text = self._texts.pop(0) if self._texts else None
        return None if text is None else ClientInput([UserMessage(content=text)], [f"msg_{text[-1]}"])


def play(run: Run, sender: Sender) -> list[Entry]:
    async def collect() -> list[Entry]:
        loop = Loop(run)
        loop.progress.read_input = sender.read
        return [*loop.open(), *[entry async for entry in loop.events()]]

    return asyncio.run(collect())


def answer(entries: Sequence[Entry]) -> str:
    last = events(entries)[-1]
    assert isinstance(last, TurnEnded)
    return text_of(last.output_message.content) if last.output_message else ""


def heard(entries: Sequence[Entry]) -> list[str]:
    details = [event.detail for event in events(entries) if isinstance(event, StepEnded)]
    found = [detail.data for detail in details if isinstance(detail, OtherDetail) and detail.kind == USER_INPUT]
    return [message["content"] for data in found for message in data["messages"]]


def test_a_message_after_the_answer_is_answered_in_the_same_turn() -> None:
    entries = play(make_run("say One."), Sender("!script\nsay Two."))
    assert heard(entries) == ["!script\nsay Two."]
    assert kinds(entries) == [
        "turn.started",
        "step.started inference",
        "step.ended inference",
        "step.started other",
        "step.ended other",
        "step.started inference",
        "step.ended inference",
        "turn.ended",
    ]
    assert answer(entries) == "Two."
    assert [item.split(b'"content":"')[1][:4] for item in items(entries)] == [b"One.", b"!scr", b"Two."]


def test_a_turn_without_input_is_as_before() -> None:
    run = make_run("say One.")
    assert kinds(play(run, Sender())) == [
        "turn.started",
        "step.started inference",
        "step.ended inference",
        "turn.ended",
    ]


def test_at_the_limit_of_rounds_nothing_more_is_taken() -> None:
    entries = play(make_run("say One.", max_infer_iters=1), Sender("!script\nsay Two."))
    assert (heard(entries), answer(entries)) == ([], "One.")


def test_shields_check_what_comes_later_too() -> None:
    shields = [PhraseShield("guard", ["bomb"])]
    entries = play(make_run("say One.", input_shields=shields), Sender(None, "!script\nsay bomb"))
    assert answer(entries) != "bomb"
    assert events(entries)[-1].reason == "violation"


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_run_that_is_taken_over_takes_it_at_the_same_place(cut: int) -> None:
    run = make_run("say One.")
    whole = events(play(run, Sender("!script\nsay Two.")))
    taken_over = TurnTakenOver(seq=cut, at=whole[cut - 1].at + 1, by="other", cause="lost", idle_us=0)
    stored: list[Event] = [*whole[:cut], taken_over]
    has_heard = any(event.type == "step.ended" and event.step_type == "other" for event in stored)
    sender = Sender() if has_heard else Sender("!script\nsay Two.")

    async def go_on() -> list[Entry]:
        loop = Loop(replace(run, stored_events=stored))
        loop.progress.read_input = sender.read
        loop.open(queued=True)
        return [entry async for entry in loop.events()]

    rest = asyncio.run(go_on())
    assert answer(rest) == "Two."
    assert heard([*stored, *rest]) == ["!script\nsay Two."]
