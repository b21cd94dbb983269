"""The body of a stored turn: its columns, and how a draft of plain values becomes these. They depend on nothing
stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agents.record.schemas.content import CompletionMessage, TurnMessage, has_images, text_of
from agents.record.schemas.events import ErrorInfo

OUTPUT_COLUMNS = "output_preview output_message error"
BODY_COLUMNS = (
    f"turn_id input_preview input_messages {OUTPUT_COLUMNS} request metadata attachments sanitized traceparent"
)
MAX_PREVIEW = 240
"""Most characters of the previews of input and output in a row."""
IMAGES, DOCUMENTS = 1, 2
_OPENING, _CLOSING = re.compile(r"<[A-Za-z_][\w-]*>"), re.compile(r"</[A-Za-z_][\w-]{0,100}>$")
"""The ends of a message that is elements alone."""


def stop_reason(output: CompletionMessage | None, error: ErrorInfo | None) -> str:
    """Return why a turn stopped, as its last message has it; empty for one that failed."""
    return "" if error or output is None else output.stop_reason


class TurnBodyDraft(msgspec.Struct, frozen=True):
    """The body of a turn that is to be stored. ``request`` is JSON text, ``traceparent`` the trace that its request
    belonged to, ``shown`` the text for the preview of its output."""

    input: Sequence[TurnMessage]
    request: str
    metadata: Mapping[str, str]
    output: CompletionMessage | None = None
    error: ErrorInfo | None = None
    traceparent: str = ""
    shown: str = ""


def body_columns(draft: TurnBodyDraft) -> tuple[Any, ...]:
    """Build the columns `BODY_COLUMNS` but the first. They depend on nothing stored."""
    images = any(has_images(message.content) for message in draft.input)
    return (
        preview(_asked(draft.input)),
        "[" + ",".join(message.model_dump_json(exclude_none=True) for message in draft.input) + "]",
        *output_columns(draft.output, draft.error, draft.shown),
        draft.request,
        msgspec.json.encode(draft.metadata).decode(),
        IMAGES * images | DOCUMENTS * ('"documents":[{' in draft.request),
        False,
        draft.traceparent,
    )


def output_columns(output: CompletionMessage | None, error: ErrorInfo | None, text: str) -> tuple[str, str, str]:
    """Build the columns `OUTPUT_COLUMNS`; ``text`` is shown where there is no error."""
    return (
        preview(error.message if error else text),
        output.model_dump_json(exclude_none=True) if output else "",
        error.model_dump_json(exclude_none=True) if error else "",
    )


def input_text(messages: Sequence[TurnMessage]) -> str:
    """Return the text of a turn's input: of its messages only those of users and tools."""
    return "\n".join(_input_texts(messages))


def _input_texts(messages: Sequence[TurnMessage]) -> list[str]:
    return [text_of(message.content) for message in messages if message.role in ("user", "tool")]


def _asked(messages: Sequence[TurnMessage]) -> str:
    """Return the text of a turn's input without what a program has put before the words of its user."""
    texts = _input_texts(messages)
    return "\n".join([text for text in texts if not _is_of_program(text)] or texts)


def _is_of_program(text: str) -> bool:
    """Tell whether a message is elements alone, under a heading or not: so coding agents tell a model of their folder,
    their rules and the time. Only its ends are looked at: it may be long."""
    body = text.strip()
    if body.startswith("# "):
        body = body.partition("\n")[2].lstrip()
    return _OPENING.match(body) is not None and _CLOSING.search(body, max(len(body) - 104, 0)) is not None


def answer_text(output: CompletionMessage | None) -> str:
    return text_of(output.content) if output else ""


def calls_text(output: CompletionMessage | None) -> str:
    """Render the calls of a message as text, for a preview."""
    calls = output.tool_calls if output else ()
    return ", ".join(f"{call.tool_name}({call.arguments_json or ''})" for call in calls)


def preview(text: str) -> str:
    """Return the beginning of a text on one line."""
    return " ".join(text[: MAX_PREVIEW * 4].split())[:MAX_PREVIEW]
