"""The catalogue of the record: each field of agents, sessions, turns, responses and steps that queries know, once.

From it come the fields of queries with their help (`agents.query.fields`), the conditions on one column
(`agents.logs.store.levels`), the columns of the numbers, the facets and the groups (`agents.logs.store.numbers`),
the values on the admin's pages (`agents.pages.admin`) and the table in ``docs/queries.md``. What a column is, the
models say: an amount, a time, a choice, an interned text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.query.fields import FREE_TEXT, QueryField, at
from agents.query.tree import Level
from agents.record.models.choices import RESPONSE_STATUSES, Api, StepType


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordField(QueryField):
    """A field with where it is stored. ``columns`` names, by level of rows, the column that holds it, with ``+``
    between those of which it is the sum; a level with a column that is none of ``levels`` repeats a value of a
    wider level, or has one instead of that. A field without a column has a condition of its own in
    `agents.logs.store.levels`.

    ``facet``: the values are counted. ``counted`` names the column for that where it is another one.
    ``presence`` is another name of the field behind ``has:``."""

    columns: Mapping[Level, str] = field(default_factory=dict)
    facet: bool = False
    counted: Mapping[Level, str] = field(default_factory=dict)
    presence: str = ""


def _on(levels: str, column: str) -> Mapping[Level, str]:
    """Return the columns of a field that has the same one at several levels."""
    return dict.fromkeys(at(levels), column)


def _count(
    name: str, column: str, help: str, example: str, phrase: str, levels: str = "turn response step"
) -> RecordField:
    columns = _on(levels, column)
    return RecordField(name, "number", at(levels), help, example, phrase, unit="count", columns=columns)


STATUS_ALIASES = {
    "running": "in_progress",
    "waiting": "awaiting_input",
    "done": "completed",
    "error": "failed",
    "canceled": "cancelled",
}
STEP_TYPE_ALIASES = {
    "tool": "tool_execution",
    "shield": "shield_call",
    "memory": "memory_retrieval",
    "retrieval": "memory_retrieval",
}
_EVERY_LEVEL = "agent session turn response step"
_APIS = (Api.AGENTS.label, Api.RESPONSES.label, Api.UNSTORED.label)

# A table: formatted, each of its rows would take ten lines.
# fmt: off
_IDENTITY = (
    RecordField("id", "id", at(_EVERY_LEVEL), "the id of the row itself", "01a2b3c4-…", "with id {}",
        columns=_on(_EVERY_LEVEL, "id")),
    RecordField("agent", "choice", at("agent"), "name or id of the agent", "support", "of agent {}",
        columns=_on("session turn step", "agent_id"), facet=True, counted={"step": "agent"}),
    RecordField("session", "choice", at("session"), "name or id of the session", "demo", "in session {}"),
    RecordField("turn", "id", at("turn"), "the id of the turn", "01a2b3c4-…", "of turn {}", columns=_on("turn", "id")),
    RecordField("caller", "id", at("turn"), "the turn that called it, as a sub-agent", "01a2b3c4-…",
        "called by turn {}"),
    RecordField("response", "id", at("response"), "the id of the response", "resp_01a2…", "of response {}",
        columns=_on("response", "id")),
    RecordField("user", "choice", at("turn"), "the user it ran for", "ana", "for user {}",
        columns=_on("turn", "end_user_id"), facet=True),
    RecordField("tag", "choice", at("session turn step"), "a tag it was given", "urgent", "tagged {}", many=True,
        facet=True, counted={"turn": "terms"}, presence="tags"),
    RecordField("env", "choice", at("turn"), "the environment it ran in", "prod", "in environment {}",
        facet=True, counted={"turn": "terms"}),
    RecordField("key", "choice", at("turn"), "name of the API key used", "ci", "with API key {}",
        columns=_on("turn", "actor_key"), facet=True),
    RecordField("api", "choice", at("session turn response"), "the API it ran through", "agents", "through API {}",
        choices=_APIS, columns=_on("session turn response", "api"), facet=True),
    RecordField("source", "choice", at("agent session turn"), "native, demo, or where it came from", "native",
        "from source {}", columns=_on("agent session turn", "source"), facet=True),
    RecordField("meta", "choice", at("session turn"), "a value of the metadata", "gold", "with {}", keyed=True,
        key="customer.tier"),
    RecordField("prompt", "choice", at("turn"), "the prompt its instructions are from, by id or with its version",
        "pmpt_01a2…@3", "with prompt {}", many=True, facet=True, counted={"turn": "terms"}, presence="prompts"),
    RecordField("attachment", "choice", at("turn"), "what was attached to the question", "image", "with attachment {}",
        choices=("image", "document"), many=True, presence="attachments"),
)
_OUTCOME = (
    RecordField("status", "choice", at("turn response step"), "its status", "failed",
        "with status {}", choices=tuple(label for _, label in RESPONSE_STATUSES), aliases=STATUS_ALIASES,
        columns=_on("turn response step", "status"), facet=True, counted={"session": "status", "response": "outcome"}),
    RecordField("is", "choice", at("turn response step"),
        "live: queued or in progress; waiting: for its caller; undecided: for a decision about a call; truncated: by a "
        "limit; sanitized: when stored; subagent: called by another turn", "live", "that are {}",
        choices=("live", "waiting", "undecided", "truncated", "sanitized", "subagent"), many=True, only=("=",)),
    RecordField("error", "text", at("turn step"), "why it failed", "timeout", "with error {}",
        columns=_on("turn step", "error_type_id"), facet=True, presence="errors"),
    RecordField("error.message", "choice", at("turn step"), "the message of its error, without numbers and ids",
        '"order … not found"', "with the error message {}", columns=_on("turn step", "error_message_id"), facet=True),
    RecordField("finish", "choice", at("turn step"), "why it stopped", "out_of_tokens", "that stopped by {}",
        columns={"turn": "stop_reason", "step": "finish_id"}),
    RecordField("violation", "text", at("step"), "the violation a shield reported, and its level", "medical",
        "with violation {}", columns=_on("step", "violation"), presence="violations"),
)
_STEPS = (
    RecordField("type", "choice", at("step"), "type of a step", "tool", "of type {}", choices=tuple(StepType.labels),
        aliases=STEP_TYPE_ALIASES, columns=_on("step", "type"), facet=True, counted={"turn": "step_types"}),
    RecordField("kind", "choice", at("step"), "kind of a step of type other", "handoff", "of kind {}",
        columns=_on("step", "kind_id"), facet=True),
    RecordField("tool", "choice", at("step"), "name of the tool called", "web_search", "of tool {}",
        columns=_on("step", "tool_id"), facet=True, counted={"turn": "tools"}, presence="tools"),
    RecordField("server_side", "flag", at("step"), "whether the server ran the tool", "false",
        "run by the server|run by the client", columns=_on("step", "server_side")),
    RecordField("answered_by", "choice", at("step"),
        "the user or API key that answered, approved or refused a call, decided about it, or cancelled it", "maria",
        "answered by {}"),
    RecordField("model", "choice", at("turn response step"), "the model asked", "llama*", "with model {}",
        columns=_on("turn response step", "model_id"), facet=True),
    RecordField("provider", "choice", at("turn"), "the model endpoint", "openai", "by provider {}",
        columns=_on("turn", "provider_id"), facet=True),
    RecordField("args", "data", at("step"), "an argument a tool was called with", "/etc/*", "with argument {}",
        keyed=True, key="path"),
    RecordField("result", "data", at("step"), "a value a tool answered, where its answer is JSON", "shipped",
        "with result {}", keyed=True, key="order.state"),
)
_AMOUNTS = (
    RecordField("started", "time", at(_EVERY_LEVEL), "when it began", "-24h", "{}",
        columns={**_on("agent session response", "created_at"), **_on("turn step", "started_at")}),
    RecordField("ended", "time", at("turn response step"), "when it ended", "today", "ended {}",
        columns=_on("turn response step", "completed_at")),
    RecordField("duration", "number", at("turn response step"),
        "how long it took, without waiting for a person or its client", ">2s", "lasting {}", unit="us",
        columns=_on("turn step", "duration_us")),
    RecordField("waited", "number", at("turn step"), "how long it waited for a person or its client", ">1h",
        "that waited {}", unit="us", columns=_on("turn step", "waited_us")),
    RecordField("ttft", "number", at("turn step"), "time to the first token", "<500ms", "with a first token after {}",
        unit="us", columns=_on("turn step", "ttft_us")),
    RecordField("cost", "number", at("session turn step"), "what it cost, in dollars", ">$0.05", "costing {}",
        unit="nano_usd", columns=_on("session turn step", "cost_nano")),
    _count("tokens", "input_tokens+output_tokens", "tokens read and written", "1k..5k", "with {} tokens",
        levels="session turn response step"),
    _count("tokens.in", "input_tokens", "tokens read", ">4k", "with {} input tokens",
        levels="session turn response step"),
    _count("tokens.out", "output_tokens", "tokens written", ">1k", "with {} output tokens",
        levels="session turn response step"),
    _count("tokens.cached", "cached_tokens", "tokens read from the cache", ">0", "with {} cached tokens"),
    _count("tokens.reasoning", "reasoning_tokens", "reasoning tokens", ">500", "with {} reasoning tokens"),
)
_TEXTS = (
    RecordField("in", "text", at("turn"), "the input", '"refund policy"', "asking {}"),
    RecordField("out", "text", at("turn"), "the output", "sorry", "answering {}"),
    RecordField(FREE_TEXT, "text", at("turn step"), "all messages, calls, results and errors", "refund*",
        "saying {}", deep=True),
)
# fmt: on
CATALOGUE: Mapping[str, RecordField] = {
    entry.name: entry for entry in (*_IDENTITY, *_OUTCOME, *_STEPS, *_AMOUNTS, *_TEXTS)
}
"""The fields by name, in the order of help."""
