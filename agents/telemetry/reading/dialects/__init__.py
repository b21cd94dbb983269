"""Dialects of spans: one reader each, all of one shape, ``read(span) -> SpanFacts | None``.

A span may use several dialects at once. The readers run in the order of `READERS`, the most specific names first; the
first that knows the span decides, the others fill the facts it left out.
"""

from __future__ import annotations

from agents.telemetry.reading.dialects import (
    claude_code,
    codex,
    gemini_cli,
    genai,
    generic,
    langfuse,
    langsmith,
    llama_stack,
    mlflow,
    openai_agents,
    openinference,
    pydantic_ai,
    session_files,
    traceloop,
    vercel,
)
from agents.telemetry.reading.dialects.reader import Reader, reader_of
from agents.telemetry.reading.facts import SpanFacts, fill_missing
from agents.telemetry.reading.spans import Span

READERS: tuple[Reader, ...] = (
    reader_of(langfuse.DIALECT),
    openinference.read,
    reader_of(claude_code.DIALECT),
    reader_of(gemini_cli.DIALECT),
    langsmith.read_otel,
    reader_of(vercel.DIALECT),
    reader_of(genai.DIALECT),
    reader_of(mlflow.DIALECT),
    traceloop.read,
    reader_of(pydantic_ai.DIALECT),
    reader_of(codex.DIALECT),
    reader_of(llama_stack.DIALECT),
    reader_of(generic.DIALECT),
)
FORMATS: dict[str, Reader] = {
    "openai_agents": reader_of(openai_agents.DIALECT),
    "langsmith": langsmith.read,
    "claude_code": reader_of(session_files.DIALECT),
    "codex": reader_of(session_files.DIALECT),
    "gemini_cli": reader_of(session_files.DIALECT),
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
    for dialect in READERS:
        facts = dialect(span)
        if facts is None:
            continue
        if merged is None:
            merged = facts
            if facts.sender_kind and not facts.kind:
                break  # recognized as a span to be skipped: other dialects must not give it a kind
        else:
            fill_missing(merged, facts)
    return merged or SpanFacts()
