"""The tools: what each is called, what a model is told of it, what it takes and which right it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from agents.base.access import Action, Actor, require
from agents.base.api.negotiation import invalid
from agents.base.errors import NotAllowed
from agents.base.reading import read
from agents.log_tools.runner import acting, reading
from agents.log_tools.schemas import arguments
from agents.log_tools.schemas.arguments import BoundedArguments
from agents.logs.log_hooks import hooks

Call = Callable[[Actor, Any], Awaitable[str]]


@dataclass(frozen=True)
class LogTool:
    """A tool. ``is_destructive`` and ``is_idempotent`` say what a tool that does more than read does to a turn;
    ``asks_others``: models and tools of other servers may take part."""

    name: str
    title: str
    description: str
    arguments: type[BoundedArguments]
    call: Call
    action: Action = "read"
    is_destructive: bool = False
    is_idempotent: bool = True
    asks_others: bool = False
    is_offered: Callable[[], bool] = field(default=lambda: True)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        described = self.arguments.model_json_schema()
        schema: dict[str, Any] = _plain(described, described.pop("$defs", {}))
        return schema

    def may_be_called_by(self, actor: Actor) -> bool:
        """Tell whether the actor has the right that it needs."""
        try:
            require(actor, self.action)
        except NotAllowed:
            return False
        return self.is_offered()


def _plain(schema: Any, types: dict[str, Any]) -> Any:
    """Write out the types that a schema refers to, which some clients cannot follow, and leave out titles and the
    descriptions of types: they repeat the names, and a model reads all of it."""
    match schema:
        case {"$ref": str(reference)}:
            return _plain({**types[reference.rpartition("/")[2]], **schema, "$ref": None}, types)
        case dict():
            left_out = {"title", "$ref"} | ({"description"} if schema.get("type") == "object" else set())
            fields = schema.items()
            return {
                key: _plain(inner, types) for key, inner in fields if key not in left_out or isinstance(inner, dict)
            }
        case list():
            return [_plain(inner, types) for inner in schema]
        case _:
            return schema


async def called(actor: Actor, name: str, sent: dict[str, Any]) -> str:
    """Call a tool by its name. Raises KeyError for a name that is none, InvalidRequest for arguments that are not its
    own, NotAllowed without the right to it, and what the tool raises."""
    tool = TOOLS[name]
    require(actor, tool.action)
    try:
        parsed = tool.arguments.model_validate(sent)
    except ValidationError as error:
        raise invalid(error) from error
    return await tool.call(actor, parsed)


def _reading(function: Callable[[Actor, Any], str]) -> Call:
    """Return the call of a tool that blocks while it reads."""

    async def call(actor: Actor, sent: Any) -> str:
        return await read(function, actor, sent)

    return call


_TOOLS = (
    LogTool(
        "search_log",
        "Search the log",
        "List turns (what an agent did with one message), steps (model and tool calls inside turns) or sessions "
        "(conversations) that a query selects, each in a few lines with its id. Start here, for example with "
        "query='status:failed started:-24h', or level='step' and query='type:tool status:failed'. Then read_turn or "
        "read_step with an id. The last line says how to go on where there are more. query_guide explains queries.",
        arguments.SearchArguments,
        _reading(reading.search),
    ),
    LogTool(
        "query_guide",
        "Guide to queries",
        "Explain the language of queries and list its fields with examples. Read it once, before a query that is more "
        "than a few words, or after an error in one.",
        arguments.GuideArguments,
        _reading(reading.query_guide),
    ),
    LogTool(
        "read_turn",
        "Read a turn",
        "Read a turn: status, error, input, output, and an outline of its steps in order, with their ids. An answer "
        "that was cut says how to go on (first_step). part='input' or 'output' gives these in full. wait_seconds waits "
        "for a turn that is still running. Use read_step for all that a step was given and returned.",
        arguments.ReadTurnArguments,
        acting.read_turn,
    ),
    LogTool(
        "read_step",
        "Read a step",
        "Read all of a step: what a model thought, said and called, the arguments and the result of a tool, why it "
        "failed. A long step comes in parts: the last line says with which offset to go on.",
        arguments.ReadStepArguments,
        _reading(reading.read_step),
    ),
    LogTool(
        "compare_turns",
        "Compare two turns",
        "Say what two turns have in common and where they differ: outcome, settings, input, output, and step by step. "
        "Use it to find out why one failed where another one like it did not.",
        arguments.CompareArguments,
        _reading(reading.compare),
        is_offered=lambda: hooks.comparison is not None,
    ),
    LogTool(
        "count_log",
        "Count and sum up",
        "Count what a query selects, exactly, over the whole log: how many there are, failures, durations (p50, p95, "
        "p99), tokens, cost; with by also for each group, such as by=['tool'] of level='step' with "
        "query='status:failed', or by=['day']. Use it before reading, to see what is common and what is rare.",
        arguments.NumbersArguments,
        _reading(reading.count),
    ),
    LogTool(
        "list_agents",
        "List agents",
        "List the agents of this server, newest first: id, name, model, tools, and how their instructions begin.",
        arguments.ListAgentsArguments,
        _reading(reading.list_agents),
    ),
    LogTool(
        "run_agent",
        "Run an agent",
        "Give an agent a message and return its turn. It waits up to wait_seconds; a turn that takes longer goes on, "
        "and read_turn with its id and wait_seconds has the rest. session_id continues a session. The agent may call "
        "tools that change things, and costs what its model costs.",
        arguments.RunArguments,
        acting.run_agent,
        "run",
        is_destructive=True,
        is_idempotent=False,
        asks_others=True,
    ),
    LogTool(
        "answer_calls",
        "Answer waiting calls",
        "Answer the calls that a turn with status awaiting_input waits for, all of them at once: the content that a "
        "tool returned, or whether a call is approved. read_turn lists them with their call_id. The turn then goes on, "
        "and is returned as by run_agent.",
        arguments.AnswerArguments,
        acting.answer_calls,
        "run",
        is_destructive=True,
        is_idempotent=False,
        asks_others=True,
    ),
    LogTool(
        "decide_calls",
        "Decide about calls in doubt",
        "Say what became of calls that may not be made twice, and whose process was lost before their result was "
        "stored: read_turn lists them with their step_id. Find out first, where the tool keeps its own record; "
        "do not guess. The turn then goes on, and is returned as by run_agent.",
        arguments.DecideArguments,
        acting.decide_calls,
        "run",
        is_destructive=True,
        is_idempotent=False,
        asks_others=True,
    ),
    LogTool(
        "cancel_turn",
        "Cancel a turn",
        "Stop a turn that runs or waits. What it has done stays in the log; one that has ended is not changed.",
        arguments.CancelArguments,
        acting.cancel_turn,
        "run",
        is_destructive=True,
    ),
)
TOOLS = {tool.name: tool for tool in _TOOLS}
"""The tools by name, in the order in which they are listed."""
