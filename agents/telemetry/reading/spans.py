"""What every sender's report is brought to first, and kept as: a span, with all that it said.

Nothing is interpreted here: attributes have the sender's names. Formats that are no OpenTelemetry (the
traces of OpenAI's Agents SDK, LangSmith's runs, session files of coding agents) say their own fields as
attributes, and which format they are in ``format``.
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
    "claude_code",
    "codex",
    "gemini_cli",
]
"""``otlp_file`` is OpenTelemetry's out of a file; ``turns`` what we export ourselves."""


class SpanEvent(msgspec.Struct, omit_defaults=True, gc=False):
    """Something that happened in a span: an event of it, or a log record that names it; only records have a
    ``severity``, in the sender's word or OpenTelemetry's."""

    name: str
    at_ns: int = 0
    attributes: dict[str, Any] = {}
    body: Any = None
    severity: str = ""


class SpanLink(msgspec.Struct, omit_defaults=True, gc=False):
    """Another span that one names beside its parent: what queued it, what it goes on from. Nothing is made of it."""

    trace: str
    span: str
    attributes: dict[str, Any] = {}


class Span(msgspec.Struct, omit_defaults=True, gc=False):
    """One thing reported. Times are nanoseconds since 1970, 0 where the sender gave none: a span without
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
