"""Large values of steps: apart from their details, read by range, and the same to the byte."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.loop.protocols.tools import Repeat, ToolContext, ToolResult
from agents.record.models.turns import StepDetail, ValueBlock
from agents.record.schemas.content import ToolDef
from agents.record.schemas.turns import fold
from agents.record.store import deletion, large_values, read_turns, replay
from tests.loop.play import events
from tests.support.builders import Recorded, make_turn

ODD = 'é ✓ "quoted" \\ back\n\ttab \x01 \x7f   😀 '


@dataclass
class Told:
    """A tool that gives back what it was told to."""

    content: Any
    definition: ToolDef = ToolDef(name="lookup")  # noqa: RUF009 - never changed
    group: str = "test"
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return ToolResult(content=self.content)


def made_with(actor: Actor, content: Any, arguments: str = '{"query": "all"}') -> Recorded:
    return make_turn(actor, f"call lookup {arguments}\nthen\nsay Done.", server_tools={"lookup": Told(content)})


def tool_step(actor: Actor, made: Recorded) -> Any:
    return next(step for step in read_turns.turn(actor, made.turn).steps if step.type == "tool_execution")


@pytest.mark.django_db
def test_a_large_result_is_in_blocks_and_the_turn_is_the_same(admin: Actor) -> None:
    made = made_with(admin, ODD * 60_000)
    assert ValueBlock.objects.count() == -(-len((ODD * 60_000).encode()) // large_values.BLOCK)
    assert read_turns.turn(admin, made.turn) == fold(made.turn, made.session, events(made.entries))
    assert replay.load(made.turn) == list(made.entries)


@pytest.mark.django_db
def test_what_stays_is_small_and_says_what_is_elsewhere(admin: Actor) -> None:
    step = tool_step(admin, made_with(admin, ODD * 60_000))
    stored = StepDetail.objects.get(step_id=step.key)
    outline = large_values.outline(stored.encoding, stored.body)
    assert len(bytes(stored.body)) < 20_000
    assert json.loads(outline.body)["tool_responses"][0]["content"] == (ODD * 60_000)[: large_values.HEAD]
    [cut] = outline.cuts
    assert (cut.pointer, cut.size) == ("/tool_responses/0/content", len((ODD * 60_000).encode()))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("start", "end"), [(0, 10), (large_values.BLOCK - 3, large_values.BLOCK + 5), (600_000, 10**9), (10**9, 10**9)]
)
def test_a_range_of_it_is_read(admin: Actor, start: int, end: int) -> None:
    step = tool_step(admin, made_with(admin, ODD * 60_000))
    assert large_values.read(step.key, 0, start, end) == (ODD * 60_000).encode()[start:end]


@pytest.mark.django_db
def test_small_details_stay_in_one_piece(admin: Actor) -> None:
    made_with(admin, "x" * 60_000)
    assert ValueBlock.objects.count() == 0


@pytest.mark.django_db
def test_arguments_are_kept_as_the_json_they_are(admin: Actor) -> None:
    arguments = json.dumps({"rows": [[n, n / 7, None, "é"] for n in range(20_000)]}, ensure_ascii=False)
    made = made_with(admin, "ok", arguments)
    step = tool_step(admin, made)
    stored = StepDetail.objects.get(step_id=step.key)
    assert {cut.pointer for cut in large_values.outline(stored.encoding, stored.body).cuts} == {
        "/tool_calls/0/arguments",
        "/tool_calls/0/arguments_json",
    }
    assert read_turns.turn(admin, made.turn) == fold(made.turn, made.session, events(made.entries))


@pytest.mark.django_db
def test_its_blocks_go_with_the_turn(admin: Actor) -> None:
    made = made_with(admin, "x" * 500_000)
    assert ValueBlock.objects.count() == 2
    writer.write(lambda: deletion.delete_turns([made.turn]))
    assert ValueBlock.objects.count() == 0


LONG = "a" * large_values.MAX_INLINE_TEXT + '",\\"'


@pytest.mark.parametrize(
    "detail",
    [
        {"tool_responses": [{"content": LONG}, {"content": LONG}, {"content": [{"type": "text", "text": LONG * 2}]}]},
        {"tool_calls": [{"arguments": {"a": LONG, "b/c~": [LONG]}}], "tool_responses": []},
        {"kind": "trace", "data": {"tool_responses": [{"content": LONG}], "number": 1e-7}},
        {"reasoning": LONG, "model_response": {"content": LONG + '"reasoning":"' + LONG}},
    ],
)
def test_a_detail_is_put_together_again(detail: dict[str, Any]) -> None:
    body = msgspec.json.encode(detail)
    found = large_values.split(body)
    assert found is not None
    at, out = 0, b""
    for part, text in zip(found.outline.parts, found.texts, strict=True):
        out += found.outline.body[at : part.start] + (text if part.is_json else msgspec.json.encode(text.decode()))
        at = part.end
    assert out + found.outline.body[at:] == body
    assert len(found.outline.body) < len(body)


def test_a_detail_in_other_words_than_ours_stays_whole() -> None:
    escaped = json.dumps({"tool_responses": [{"content": "é" * large_values.MAX_INLINE_TEXT * 2}]}).encode()
    assert large_values.split(escaped) is None


def test_tools_that_a_server_listed_stay_whole() -> None:
    listed = {"kind": "mcp_list_tools", "data": {"tools": [{"name": "x", "description": LONG}]}}
    assert large_values.split(msgspec.json.encode(listed)) is None
