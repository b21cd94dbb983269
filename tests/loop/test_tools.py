"""Tools in the loop: at once, in order, in time, and each call with an answer of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base.errors import NotFound
from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Text
from agents.loop.protocols.tools import Repeat, ToolContext, ToolResult, ToolWithArgs
from agents.record.schemas.content import Content, TextItem, ToolDef
from agents.record.schemas.items import MAX_MODEL_TEXT
from tests.loop.play import LOOKUP, events, items, make_run, play


@dataclass
class Relay:
    """Tools that wait until all of them have been called, and answer in the opposite order."""

    count: int
    calls: list[str] = field(default_factory=list)
    turns: list[asyncio.Event] = field(default_factory=list)

    def tool(self, name: str, place: int) -> Runner:
        return Runner(self, place, ToolDef(name=name))

    async def take_turn(self, name: str, place: int) -> None:
        self.calls.append(name)
        self.turns = self.turns or [asyncio.Event() for _ in range(self.count)]
        if len(self.calls) == self.count:
            self.turns[-1].set()
        await self.turns[place].wait()
        if place:
            self.turns[place - 1].set()


@dataclass
class Runner:
    relay: Relay
    place: int
    definition: ToolDef
    group: str = "test"
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        await self.relay.take_turn(self.definition.name, self.place)
        return ToolResult(content=f"{self.definition.name} is done")


@dataclass
class Given:
    """A tool that answers with what it was given, or ends as it is told to."""

    definition: ToolDef
    content: Content | None = None
    error: BaseException | None = None
    seen: list[tuple[dict[str, Any], ToolContext]] = field(default_factory=list)
    group: str = "test"
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        self.seen.append((arguments, context))
        if self.error:
            raise self.error
        return ToolResult(content=json.dumps(arguments) if self.content is None else self.content)


class Deaf(Given):
    """A tool that does not let itself be stopped."""

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        while True:
            try:
                await asyncio.sleep(1)
                return ToolResult(content="too late")
            except asyncio.CancelledError:
                continue


class Model:
    """Says these parts in its first round, and goodbye in its second; ``asked`` are its requests."""

    name = "model"

    def __init__(self, parts: Sequence[CallPart]) -> None:
        self.parts, self.asked = parts, list[InferenceRequest]()

    async def stream(self, request: InferenceRequest) -> Any:
        self.asked.append(request)
        chunks: list[Chunk] = [*self.parts, Finish("tool_calls")]
        for chunk in chunks if len(self.asked) == 1 else [Text("Bye."), Finish("stop")]:
            yield chunk


def tool_steps(entries: Any) -> list[Any]:
    return [event for event in events(entries) if event.type == "step.ended" and event.step_type == "tool_execution"]


def contents(entries: Any) -> list[str]:
    return [step.detail.tool_responses[0].content for step in tool_steps(entries)]


def test_calls_run_at_once_and_are_recorded_in_call_order() -> None:
    relay = Relay(3)
    names = ["one", "two", "three"]
    tools = {name: relay.tool(name, place) for place, name in enumerate(names)}
    entries = play(make_run("call one {}\ncall two {}\ncall three {}\nthen\nsay Done.", server_tools=tools))
    assert contents(entries) == [f"{name} is done" for name in names]


def test_the_context_carries_what_came_with_the_request_and_nothing_of_it_is_recorded() -> None:
    tool = Given(ToolDef(name="lookup"))
    sent = {"mcp_headers": {"http://x/": {"Authorization": "kanarie"}}}
    run = make_run(
        'call lookup {"session_id": "mine"}\nthen\nsay ok', server_tools={"lookup": tool}, provider_data=sent
    )
    entries = play(run)
    [(arguments, context)] = tool.seen
    assert arguments == {"session_id": "mine"}
    assert (context.provider_data, context.actor) == (sent, "tester")
    assert context.session_id not in ("", "mine")
    assert "kanarie" not in f"{entries}{run}{context}"


def test_args_of_the_group_win_over_the_models() -> None:
    tool = Given(ToolDef(name="lookup"))
    tools = {"lookup": ToolWithArgs(tool, {"limit": 3})}
    play(make_run('call lookup {"limit": 100, "q": "x"}\nthen\nsay ok', server_tools=tools))
    assert tool.seen[0][0] == {"limit": 3, "q": "x"}


def test_a_tool_that_cannot_be_stopped_is_left_behind() -> None:
    tools = {"lookup": Deaf(ToolDef(name="lookup"))}
    entries = play(make_run("call lookup {}\nthen\nsay ok", server_tools=tools, tool_timeout_s=0.02))
    assert contents(entries) == ["lookup did not answer within 0.02 s."]
    assert tool_steps(entries)[0].status == "failed"
    assert events(entries)[-1].status == "completed"


def test_an_error_and_a_cancellation_of_its_own_are_answers() -> None:
    for error, words in ((NotFound("no such thing"), "no such thing"), (asyncio.CancelledError(), "lookup gave up.")):
        tools = {"lookup": Given(ToolDef(name="lookup"), error=error)}
        entries = play(make_run("call lookup {}\nthen\nsay ok", server_tools=tools))
        assert contents(entries) == [words]
        assert events(entries)[-1].status == "completed"


def test_calls_of_one_id_get_answers_of_their_own() -> None:
    parts = [CallPart(n, f'{{"n": {n}}}', call_id, "lookup") for n, call_id in enumerate(["same", "same", "", ""])]
    model = Model(parts)
    tool = Given(ToolDef(name="lookup"))
    entries = play(make_run("", inference=model, server_tools={"lookup": tool}))

    answered = [step.detail.tool_responses[0] for step in tool_steps(entries)]
    assert [json.loads(one.content)["n"] for one in answered] == [0, 1, 2, 3]
    ids = [one.call_id for one in answered]
    assert ids[0] == "same"
    assert len(set(ids)) == 4
    said = [json.loads(item) for item in items(entries)]
    assert [call["id"] for call in said[0]["tool_calls"]] == ids
    assert [item["tool_call_id"] for item in said[1:5]] == ids


def test_arguments_that_are_no_object_are_answered_once() -> None:
    model, tool = Model([CallPart(0, "{'single': quotes}", "c", "lookup")]), Given(ToolDef(name="lookup"))
    entries = play(make_run("", inference=model, server_tools={"lookup": tool}))
    assert tool.seen == []
    [answer] = contents(entries)
    assert "not a JSON object" in answer
    assert len(model.asked) == 2
    assert events(entries)[-1].output_message.content == "Bye."


def test_a_tool_of_server_and_client_in_one_message_runs_before_the_client_is_asked() -> None:
    ours = Given(ToolDef(name="ours"))
    run = make_run("call lookup {}\ncall ours {}", client_tools=[LOOKUP], server_tools={"ours": ours})
    entries = play(run)
    assert len(ours.seen) == 1
    assert events(entries)[-1].type == "turn.awaiting_input"
    assert [call.tool_name for call in events(entries)[-1].output_message.tool_calls] == ["lookup"]


def test_a_long_text_is_cut_for_the_model_and_whole_in_the_step() -> None:
    text = "x" * (MAX_MODEL_TEXT + 5)
    contents_of_tools: tuple[Content, ...] = (text, [TextItem(text=text)])
    for content in contents_of_tools:
        tools = {"lookup": Given(ToolDef(name="lookup"), content=content)}
        entries = play(make_run("call lookup {}\nthen\nsay ok", server_tools=tools))
        assert contents(entries) == [content]
        [told] = [json.loads(item)["content"] for item in items(entries) if b'"tool_call_id"' in item]
        assert (
            told
            == f"{'x' * MAX_MODEL_TEXT}\n[Cut here: these are the first {MAX_MODEL_TEXT} of {len(text)} characters.]"
        )


def test_a_text_that_just_fits_is_not_cut() -> None:
    tools = {"lookup": Given(ToolDef(name="lookup"), content="x" * MAX_MODEL_TEXT)}
    entries = play(make_run("call lookup {}\nthen\nsay ok", server_tools=tools))
    assert tool_steps(entries)[0].detail.tool_responses[0].metadata is None
