"""Dialects of spans: a table each of names and what they mean, and one function that reads any of them (`reader`).

A dialect is a module with a `Dialect` and a place in `READERS`::

    DIALECT = Dialect(
        sender_kind="acme.span.kind",  # the attribute that marks a span as this dialect's and has the sender's kind
        kinds={"generation": kinds.LLM, "step": kinds.CHAIN},  # ours for it; left out: the common names (`kinds`)
        facts={
            EVERY: {"agent": "acme.agent.name"},
            kinds.LLM: {
                "model": ("acme.response.model", "acme.model"),  # the first that has a value
                "provider": ("acme.vendor", source.constant("acme")),
                "input_messages": "acme.prompt",
                "usage": source.tokens(input="acme.tokens.in", output="acme.tokens.out"),
                "cost_nano": "acme.bill > total_dollars",  # in an object, which may be JSON text
            },
            (kinds.AGENT, kinds.WORKFLOW): {"name": source.span_name},
            But(kinds.LLM): {"input": "acme.input", "output": "acme.output"},
        },
    )

==================  ================================================================================================
``sender_kind``     an attribute, or a function of a span: its sender's kind, None where the span is not of this
                    dialect. ``markers`` are attributes of which one must be there, looked up before all else
``kinds``           a mapping, whose other spans are skipped, or a function of the sender's kind and the span
``facts``           for one kind, several, all but some or `EVERY` one: facts (`SpanFacts`) and their names. Under a
                    name is what the fact is made of: texts, messages, dollars, milliseconds, a usage object. `source`
                    reads other values; a function of the values and the span reads what no name can say. Where
                    two rows of a kind have the same fact, the later counts
``values``          a function of a span: what names are looked up in, if not in its attributes
``finish``          for kinds, functions that correct facts which belong together, after all rows
==================  ================================================================================================

A span may use several dialects at once. They are read in the order of `READERS`, the most specific names first; the
first that knows the span decides, the others fill the facts it left out. What a table cannot show is in the docstring
of its module: what to look for, and traps.
"""

from __future__ import annotations

from functools import cache

from agents.telemetry.reading.dialects import (
    ag2,
    claude_code,
    codex,
    gemini_cli,
    genai,
    generic,
    langfuse,
    langsmith,
    litellm,
    llama_stack,
    mastra,
    mlflow,
    openai_agents,
    openinference,
    pydantic_ai,
    session_files,
    traceloop,
    vercel,
)
from agents.telemetry.reading.dialects.reader import Reader, markers_of, reader_of
from agents.telemetry.reading.facts import SpanFacts, fill_missing
from agents.telemetry.reading.spans import Span

_DIALECTS = tuple(
    module.DIALECT
    for module in (
        langfuse,
        openinference,
        claude_code,
        gemini_cli,
        langsmith,
        vercel,
        ag2,
        litellm,
        mastra,
        genai,
        mlflow,
        traceloop,
        pydantic_ai,
        codex,
        llama_stack,
        generic,
    )
)
READERS = tuple(map(reader_of, _DIALECTS))
_UNMARKED = sum(1 << index for index, dialect in enumerate(_DIALECTS) if not markers_of(dialect))
_MARKED = {
    marker: sum(1 << index for index, dialect in enumerate(_DIALECTS) if marker in markers_of(dialect))
    for all_of_dialect in map(markers_of, _DIALECTS)
    for marker in all_of_dialect
}
"""The dialects that an attribute marks, as a bit mask of their positions."""


@cache
def _readers_of(mask: int) -> tuple[Reader, ...]:
    return tuple(reader for index, reader in enumerate(READERS) if mask >> index & 1)


_read_session = reader_of(session_files.DIALECT)
FORMATS = {
    "openai_agents": reader_of(openai_agents.DIALECT),
    "langsmith": reader_of(langsmith.RUNS),
    "claude_code": _read_session,
    "codex": _read_session,
    "gemini_cli": _read_session,
    "openai_chat": _read_session,
    "atif": _read_session,
}
"""Formats other than OpenTelemetry have one reader each, and no other."""


def read(span: Span) -> SpanFacts:
    """Read the facts of a span; they have no kind where it is no operation of an agent."""
    reader = FORMATS.get(span.format)
    if reader is not None:
        return reader(span) or SpanFacts()
    merged: SpanFacts | None = None
    if pydantic_ai.is_pending(span):
        return SpanFacts()
    mask = _UNMARKED
    for name in span.attributes:
        mask |= _MARKED.get(name, 0)
    for reader in _readers_of(mask):
        facts = reader(span)
        if facts is None:
            continue
        if merged is None:
            merged = facts
            if facts.sender_kind and not facts.kind:
                break  # recognized as a span to be skipped: other dialects must not give it a kind
        else:
            fill_missing(merged, facts)
    return merged or SpanFacts()
