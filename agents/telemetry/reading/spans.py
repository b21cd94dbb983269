"""The span that every sender's report is decoded into and stored as.

Nothing is interpreted here: attributes have the sender's names. Formats other than OpenTelemetry (the
traces of OpenAI's Agents SDK, LangSmith's runs, session files of coding agents) have their own fields as
attributes; ``format`` says which format it is.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Format = Literal[
    "otlp",
    "otlp_file",
    "turns",
    "openai_agents",
    "langsmith",
    "mlflow",
    "phoenix",
    "langfuse",
    "openai_chat",
    "atif",
    "claude_code",
    "codex",
    "gemini_cli",
]
"""``otlp_file`` is OpenTelemetry's from a file; ``turns`` our own export."""


class SpanEvent(msgspec.Struct, omit_defaults=True, gc=False):
    """An event of a span, or a log record that names the span. Only records have a ``severity``, in the sender's word
    or OpenTelemetry's."""

    name: str
    at_ns: int = 0
    attributes: dict[str, Any] = {}
    body: Any = None
    severity: str = ""


class SpanLink(msgspec.Struct, omit_defaults=True, gc=False):
    """A link to another span than the parent: what queued this one, or what it continues. Nothing is derived from
    it."""

    trace: str
    span: str
    attributes: dict[str, Any] = {}


class Span(msgspec.Struct, omit_defaults=True, gc=False):
    """One reported operation. Times are nanoseconds since 1970, 0 where the sender gave none: a span without
    an end is still going on. ``failed`` and ``message`` are its status; ``kind`` OpenTelemetry's span kind;
    ``dropped`` counts attributes that the sender cut. ``resource`` describes the process it ran in, ``scope``
    the library that reported it. A log record without its span yet is one with ``is_log``: only its
    ``events`` count."""

    trace: str
    id: str
    parent: str = ""
    name: str = ""
    start_ns: int = 0
    end_ns: int = 0
    failed: bool = False
    message: str = ""
    kind: int = 0
    attributes: dict[str, Any] = {}
    events: list[SpanEvent] = []
    resource: dict[str, Any] = {}
    scope: str = ""
    scope_version: str = ""
    dropped: int = 0
    format: Format = "otlp"
    is_log: bool = False
    links: list[SpanLink] = []
