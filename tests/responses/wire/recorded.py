"""Runs of every kind of tool of the Responses API, recorded: the events of the loop and the frames they
become. ``python -m tests.responses.wire.recorded`` records them anew, to be looked at in the diff."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agents.base import ids
from agents.loop.protocols.tools import HostedTool, ListedTools, Repeat, ToolContext, ToolResult, failure
from agents.loop.run import PendingCall, Resume, Run
from agents.record.schemas.content import ToolCall, ToolDef, ToolResponse, Usage
from agents.record.schemas.events import EVENT, Delta, Entry
from agents.responses.schemas.requests import CreateResponse
from agents.responses.wire.responses import ResponseHead
from agents.responses.wire.settings import settings_json
from agents.responses.wire.stream import ResponseStream
from agents.safety.providers.scripted import PhraseShield
from tests.loop.play import START_US, events, make_run, play

FOLDER = Path(__file__).with_name("samples")
SECRET = "the samples'"
RESPONSE = 1 << 41


@dataclass(frozen=True)
class Told:
    """A tool that always answers the same."""

    definition: ToolDef
    answer: ToolResult
    group: str = "samples"
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return self.answer


def labelled(kind: Any, name: str, answer: ToolResult, **more: Any) -> dict[str, HostedTool]:
    return {name: HostedTool(Told(ToolDef(name=name), answer), kind, **more)}


class Lab:
    """A server of one tool."""

    label = "lab"

    async def list_tools(self) -> ListedTools:
        tool = Told(ToolDef(name="boil", description="Boil it"), ToolResult(content="-100"))
        shown = {"name": "boil", "description": "Boil it", "input_schema": {"type": "object"}, "annotations": None}
        return ListedTools([HostedTool(tool, "mcp", "lab")], [shown])


FOUND = {"file_id": "file-1", "filename": "kettles.txt", "score": 0.5, "text": "Blue.", "attributes": {}}
SOURCES = [{"type": "url", "url": "https://example.org/"}]


def _function() -> Run:
    script = 'think Hm.\nsay Let me look.\ncall ask {"q": "a"}\ncall ask {"q": "b"}'
    return make_run(script, client_tools=[ToolDef(name="ask")], ends_with_client_calls=True)


def _answered() -> Run:
    call = ToolCall(call_id="call_1", tool_name="ask", arguments={}, arguments_json="{}")
    resume = Resume(
        response_number=2,
        responses=[ToolResponse(call_id="call_1", tool_name="ask", content="blue")],
        pending=[PendingCall(1 << 42, call, START_US - 1000)],
        next_seq=4,
        next_step=2,
        round=1,
        iterations=0,
        usage=Usage(),
    )
    return make_run("call ask {}\nthen\nsay Blue.", client_tools=[ToolDef(name="ask")], resume=resume)


def _approval() -> Run:
    tool = labelled("mcp", "boil", ToolResult(content="-100"), label="lab", needs_approval=True)
    return make_run('call boil {"what": "tea"}', server_tools=tool, ends_with_client_calls=True)


RUNS: dict[str, Callable[[], Run]] = {
    "message": lambda: make_run("say one two three"),
    "reasoning": lambda: make_run("think Hm, let me see.\nsay Blue."),
    "function": _function,
    "function_answered": _answered,
    "mcp": lambda: make_run('call boil {"what": "tea"}\nthen\nsay Cold.', tool_sources=[Lab()]),
    "mcp_failed": lambda: make_run(
        "call boil {}\nthen\nsay No.", server_tools=labelled("mcp", "boil", failure("out of order"), label="lab")
    ),
    "mcp_approval": _approval,
    "web_search": lambda: make_run(
        'call web_search {"query": "kettles"}\nthen\nsay Blue.',
        server_tools=labelled("web_search", "web_search", ToolResult("{}", metadata={"sources": SOURCES})),
    ),
    "file_search": lambda: make_run(
        'call knowledge_search {"query": "kettles"}\nthen\nsay It is blue <|file-1|> indeed.',
        server_tools=labelled("file_search", "knowledge_search", ToolResult("Blue.", metadata={"results": [FOUND]})),
    ),
    "code_interpreter": lambda: make_run(
        'call code_interpreter {"code": "print(1)"}\nthen\nsay One.',
        server_tools=labelled("code_interpreter", "code_interpreter", ToolResult("1\n")),
    ),
    "refusal": lambda: make_run("say a secret thing", output_shields=[PhraseShield("polite", "secret")]),
    "cut": lambda: make_run("say half a\nlength"),
    "failed": lambda: make_run("say half a\nfail 500 out of order"),
}


def head_of(name: str) -> ResponseHead:
    """The head its request would have: it says whether files are searched and shields judge."""
    more: dict[str, Any] = {}
    if name == "file_search":
        more["tools"] = [{"type": "file_search", "vector_store_ids": ["vs_1"]}]
    if name == "refusal":
        more["guardrails"] = ["polite"]
    body = CreateResponse.model_validate({"model": "scripted/fast", "input": "…", **more})
    return ResponseHead(RESPONSE, START_US, settings_json(body, conversation=None))


def frames(name: str, entries: list[Entry]) -> bytes:
    return ResponseStream(head_of(name)).feed(entries)


def entries_json(entries: list[Entry]) -> str:
    """Entries as lines of JSON; a delta is a list."""
    return "".join(f"{json.dumps(_line(entry), ensure_ascii=False)}\n" for entry in entries)


def _line(entry: Entry) -> Any:
    if isinstance(entry, Delta):
        return [entry.step, entry.channel, entry.offset, entry.text, entry.after, entry.ordinal, entry.index]
    return EVENT.dump_python(entry, mode="json", exclude_none=True)


def entries_of(lines: str) -> list[Entry]:
    found = [json.loads(line) for line in lines.splitlines()]
    return [Delta(*one) if isinstance(one, list) else EVENT.validate_python(one) for one in found]


def record() -> None:
    """Write all samples."""
    ids.configure(SECRET)
    FOLDER.mkdir(exist_ok=True)
    for name, make in RUNS.items():
        entries = play(replace(make()))
        assert events(entries)
        (FOLDER / f"{name}.events.jsonl").write_text(entries_json(entries))
        (FOLDER / f"{name}.sse").write_bytes(frames(name, entries))


if __name__ == "__main__":
    record()
