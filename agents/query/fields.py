"""The table of all query fields: for each its levels, kind, operators, columns, and help.

The parser refuses what is not here, the store maps the column names to its tables, help and
completion show the rest. The oracle of the tests reads the same names from plain records.

`level_of` decides which rows a term looks at: a field of the row's own level; else one of a wider
level, inherited; else one of a narrower level, of which *some* row must match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from agents.base.tokenizer import fold
from agents.query.tree import LEVELS, Level, Op, Unit

Kind = Literal["text", "choice", "number", "time", "flag", "id", "data"]
"""``data`` is a value of JSON from outside: a text, number or flag, as it comes."""

OPERATORS: Mapping[Kind, tuple[Op, ...]] = {
    "text": ("contains", "=", "!=", "has"),
    "choice": ("=", "!=", "has"),
    "number": ("=", "!=", ">", ">=", "<", "<=", "..", "has"),
    "time": ("=", ">", ">=", "<", "<=", "..", "has"),
    "flag": ("=", "has"),
    "id": ("=", "!="),
    "data": ("contains", "=", "!=", ">", ">=", "<", "<=", "..", "has"),
}

FREE_TEXT = "text"
"""The field that is searched for words without a field."""


@dataclass(frozen=True, slots=True)
class QueryField:
    """One field. ``columns`` names, per level that has it, the columns of that level's record;
    with several, any of them may match. A column called ``id`` or ending in ``_id`` holds a
    public id (`is_id`), compared as a whole and never with ``*``.

    ``choices`` are all values of a closed field, ``aliases`` other words for them. ``many``: the
    column is a list. ``keyed``: the column is a JSON object and the field needs a path into it, such as ``key``.
    ``deep``: the rows under a row of its level are looked at, too.
    ``only`` narrows the operators of the kind. ``example`` is a valid text behind the colon, and
    ``phrase`` the wording of `describe`, ``{}`` being the value; a flag has one for true and one for
    false."""

    name: str
    kind: Kind
    columns: Mapping[Level, tuple[str, ...]]
    help: str
    example: str
    phrase: str
    unit: Unit | None = None
    choices: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    many: bool = False
    keyed: bool = False
    key: str = ""
    deep: bool = False
    only: tuple[Op, ...] = ()

    @property
    def sample(self) -> str:
        """A complete term, for help and error messages."""
        return f"{self.name}{f'.{self.key}' if self.keyed else ''}:{self.example}"

    def choice(self, text: str) -> str | None:
        """Return the choice of a closed field that ``text`` names, by itself or by an alias; blanks and
        dashes count as ``_``."""
        name = re.sub(r"[\s-]+", "_", fold(text).strip())
        name = self.aliases.get(name, name)
        return name if name in self.choices else None

    @property
    def operators(self) -> tuple[Op, ...]:
        return self.only or OPERATORS[self.kind]

    @property
    def levels(self) -> tuple[Level, ...]:
        return tuple(level for level in LEVELS if level in self.columns)


def at(levels: str, *columns: str) -> Mapping[Level, tuple[str, ...]]:
    """Map each of these levels to the same columns."""
    return {level: columns for level in LEVELS if level in levels.split()}


def _count(
    name: str, column: str, help: str, example: str, phrase: str, levels: str = "turn response step"
) -> QueryField:
    return QueryField(name, "number", at(levels, column), help, example, phrase, unit="count")


STATUSES = ("queued", "in_progress", "awaiting_input", "completed", "failed", "cancelled", "interrupted")
STATUS_ALIASES = {
    "running": "in_progress",
    "waiting": "awaiting_input",
    "done": "completed",
    "error": "failed",
    "canceled": "cancelled",
}
TRUNCATING = ("out_of_tokens", "max_infer_iters")
"""Reasons why a turn or step stopped before its end: those that ``is:truncated`` accepts."""
STEP_TYPES = ("inference", "tool_execution", "shield_call", "memory_retrieval", "other")
STEP_TYPE_ALIASES = {
    "tool": "tool_execution",
    "shield": "shield_call",
    "memory": "memory_retrieval",
    "retrieval": "memory_retrieval",
}
_ALL = " ".join(LEVELS)
_FEEDBACK_LEVELS = "session turn step"

_IDENTITY = (
    QueryField(
        "id",
        "id",
        at("agent session turn response step", "id"),
        "the id of the row itself",
        "01a2b3c4-…",
        "with id {}",
    ),
    QueryField("agent", "choice", at("agent", "name", "id"), "name or id of the agent", "support", "of agent {}"),
    QueryField("session", "choice", at("session", "name", "id"), "name or id of the session", "demo", "in session {}"),
    QueryField("turn", "id", at("turn", "id"), "the id of the turn", "01a2b3c4-…", "of turn {}"),
    QueryField("response", "id", at("response", "id"), "the id of the response", "resp_01a2…", "of response {}"),
    QueryField("user", "choice", at("turn", "user"), "for whom it ran", "ana", "for user {}"),
    QueryField("tag", "choice", at(_FEEDBACK_LEVELS, "tags"), "a tag it was given", "urgent", "tagged {}", many=True),
    QueryField("env", "choice", at("turn", "env"), "the environment it ran in", "prod", "in environment {}"),
    QueryField("key", "choice", at("turn", "key"), "name of the API key used", "ci", "with API key {}"),
    QueryField(
        "api",
        "choice",
        at("session turn response", "api"),
        "the API it ran through",
        "agents",
        "through API {}",
        choices=("agents", "responses"),
    ),
    QueryField(
        "source",
        "choice",
        at("agent session turn", "source"),
        "native, demo, or where it came from",
        "native",
        "from source {}",
    ),
    QueryField(
        "meta",
        "choice",
        at("session turn", "metadata"),
        "a value of the metadata",
        "gold",
        "with {}",
        keyed=True,
        key="customer.tier",
    ),
    QueryField(
        "attachment",
        "choice",
        at("turn", "attachments"),
        "what was attached to the question",
        "image",
        "with attachment {}",
        choices=("image", "document"),
        many=True,
    ),
)
_ERROR = ("error_type", "error_message")
_OUTCOME = (
    QueryField(
        "status",
        "choice",
        at("turn response step", "status"),
        "how far it is, or how it ended",
        "failed",
        "with status {}",
        choices=STATUSES,
        aliases=STATUS_ALIASES,
    ),
    QueryField(
        "is",
        "choice",
        at("turn response step", "marks"),
        "live: queued or in progress; waiting: for its caller; truncated: by a limit; sanitized: when stored",
        "live",
        "that are {}",
        choices=("live", "waiting", "truncated", "sanitized"),
        many=True,
        only=("=",),
    ),
    QueryField(
        "error", "text", at("turn step", "error_type", "error_message"), "why it failed", "timeout", "with error {}"
    ),
    QueryField(
        "finish",
        "choice",
        {"turn": ("stop_reason",), "step": ("finish",)},
        "why it stopped",
        "out_of_tokens",
        "that stopped by {}",
    ),
    QueryField(
        "violation",
        "text",
        at("step", "violation"),
        "what a shield objected to, and its level",
        "medical",
        "with violation {}",
    ),
)
_STEPS = (
    QueryField(
        "type",
        "choice",
        at("step", "type"),
        "type of a step",
        "tool",
        "of type {}",
        choices=STEP_TYPES,
        aliases=STEP_TYPE_ALIASES,
    ),
    QueryField("kind", "choice", at("step", "kind"), "kind of a step of type other", "handoff", "of kind {}"),
    QueryField("tool", "choice", at("step", "tool"), "name of the tool called", "web_search", "of tool {}"),
    QueryField(
        "server_side",
        "flag",
        at("step", "server_side"),
        "whether the server ran the tool",
        "false",
        "run by the server|run by the client",
    ),
    QueryField("model", "choice", at("turn response step", "model"), "the model asked", "llama*", "with model {}"),
    QueryField("provider", "choice", at("turn", "provider"), "the model endpoint", "openai", "by provider {}"),
    QueryField(
        "args",
        "data",
        at("step", "args"),
        "an argument a tool was called with",
        "/etc/*",
        "with argument {}",
        keyed=True,
        key="path",
    ),
    QueryField(
        "result",
        "data",
        at("step", "result"),
        "a value a tool answered, where its answer is JSON",
        "shipped",
        "with result {}",
        keyed=True,
        key="order.state",
    ),
)
_AMOUNTS = (
    QueryField("started", "time", at(_ALL, "started_us"), "when it began", "-24h", "{}"),
    QueryField("ended", "time", at("turn response step", "ended_us"), "when it ended", "today", "ended {}"),
    QueryField(
        "duration",
        "number",
        at("turn response step", "duration_us"),
        "how long it took",
        ">2s",
        "lasting {}",
        unit="us",
    ),
    QueryField(
        "ttft",
        "number",
        at("turn step", "ttft_us"),
        "time to the first token",
        "<500ms",
        "with a first token after {}",
        unit="us",
    ),
    QueryField(
        "cost",
        "number",
        at("session turn step", "cost_nano"),
        "what it cost, in dollars",
        ">$0.05",
        "costing {}",
        unit="nano_usd",
    ),
    _count(
        "tokens", "tokens_total", "tokens read and written", "1k..5k", "with {} tokens", "session turn response step"
    ),
    _count("tokens.in", "tokens_in", "tokens read", ">4k", "with {} input tokens", "session turn response step"),
    _count("tokens.out", "tokens_out", "tokens written", ">1k", "with {} output tokens", "session turn response step"),
    _count("tokens.cached", "tokens_cached", "tokens read from the cache", ">0", "with {} cached tokens"),
    _count("tokens.reasoning", "tokens_reasoning", "tokens written in thought", ">500", "with {} reasoning tokens"),
)
_TEXTS = (
    QueryField("in", "text", at("turn", "input"), "what was asked", '"refund policy"', "asking {}"),
    QueryField("out", "text", at("turn", "output"), "what was answered", "sorry", "answering {}"),
    QueryField(
        FREE_TEXT,
        "text",
        {
            "turn": ("input", "output", "error_message", "metadata_text"),
            "step": ("said", "args_text", "result_text", "problem"),
        },
        "all that was said, called, found and went wrong",
        "refund*",
        "saying {}",
        deep=True,
    ),
)
FIELDS: dict[str, QueryField] = {entry.name: entry for entry in (*_IDENTITY, *_OUTCOME, *_STEPS, *_AMOUNTS, *_TEXTS)}
"""Fields by name; subjects that are installed `add_field` theirs."""

PRESENCE = {
    "tools": "tool",
    "tags": "tag",
    "errors": "error",
    "violations": "violation",
    "attachments": "attachment",
}
"""Words that ``has:`` accepts besides the names of fields."""


def add_field(field: QueryField, presence: str = "") -> None:
    """Let queries use a field; ``presence`` is another name of it behind ``has:``."""
    FIELDS[field.name] = field
    if presence:
        PRESENCE[presence] = field.name


def find_field(segments: Sequence[str | int]) -> tuple[QueryField, tuple[str | int, ...]] | None:
    """Resolve a dotted name to its field and the path into it: ``tokens.in``, ``meta`` + customer, tier.
    None when there is no such field, or it takes no path and there is one."""
    for length in (2, 1):
        field = FIELDS.get(".".join(str(segment) for segment in segments[:length]).lower())
        path = tuple(segments[length:])
        if field and len(segments) >= length and (field.keyed or not path):
            return field, path
    return None


def level_of(field: QueryField, at: Level) -> Level:
    """Return the level whose rows a term on this field looks at, from rows of level ``at``."""
    position = LEVELS.index(at)
    nearest = (*reversed(LEVELS[: position + 1]), *LEVELS[position + 1 :])
    return next(level for level in nearest if level in field.columns)


def is_id(column: str) -> bool:
    """Whether the column of a record holds a public id."""
    return column == "id" or column.endswith("_id")


def canonical_id(text: str) -> str:
    """Return an id in the one spelling to compare: the 32 digits of a UUID or of ``resp_…``, ``conv_…``;
    any other text folded."""
    folded = fold(text).strip()
    digits = folded.rpartition("_")[2].replace("-", "")
    return digits if re.fullmatch(r"[0-9a-f]{32}", digits) else folded


def closest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name most like ``name``; None when none is close."""
    close = get_close_matches(name.lower(), list(names), n=1, cutoff=0.75)
    return close[0] if close else None
