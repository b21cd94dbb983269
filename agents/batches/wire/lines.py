"""Lines of a batch's files: requests are read, answers and errors written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from agents.base.schemas.wire import JSON
from agents.batches.schemas.lines import RequestLine
from agents.record.schemas.content import Usage

MAX_LINES, MAX_ERRORS = 50_000, 100
"""Requests of one batch, and errors of its file that are listed."""
MAX_CUSTOM_ID = 512
EXPIRED, CANCELLED = "batch_expired", "batch_cancelled"
MESSAGES = {
    EXPIRED: "This request could not be executed before the completion window expired.",
    CANCELLED: "This request was not executed: the batch was cancelled before.",
}


class LineError(Exception):
    """A line that is no request."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.param = code, message, param


class _Line(msgspec.Struct):
    custom_id: JSON = None
    method: JSON = None
    url: JSON = None
    body: msgspec.Raw = msgspec.Raw()


class _Body(msgspec.Struct):
    model: JSON = None
    stream: JSON = None
    background: JSON = None


def split(blocks: Iterable[bytes], limit: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not empty, with their numbers from 1. Raises LineError for one of more than
    ``limit`` bytes."""
    rest, number = b"", 0
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                yield number, _bounded(line, number, limit)
        _bounded(rest, number + 1, limit)
    if rest.strip():
        yield number + 1, rest


def _bounded(line: bytes, number: int, limit: int) -> bytes:
    if len(line) > limit:
        raise LineError("line_too_long", f"Line {number} is longer than {limit:,} bytes.")
    return line


def read(number: int, line: bytes, endpoint: str) -> RequestLine:
    """Read a request. Raises LineError."""
    try:
        fields = msgspec.json.decode(line, type=_Line)
        body = msgspec.json.decode(fields.body, type=_Body) if bytes(fields.body) else None
    except (ValueError, RecursionError) as error:
        raise LineError("invalid_json_line", f"This line is not parseable as valid JSON: {error}.") from None
    custom_id = fields.custom_id
    if not isinstance(custom_id, str) or not 0 < len(custom_id) <= MAX_CUSTOM_ID:
        message = f"custom_id: a text of 1 to {MAX_CUSTOM_ID} characters is needed."
        raise LineError("missing_required_parameter", message, "custom_id")
    if fields.method != "POST":
        raise LineError("invalid_method", "method: POST is needed.", "method")
    if fields.url != endpoint:
        raise LineError("mismatched_endpoint", f"url: that of the batch is needed, {endpoint}.", "url")
    if body is None:
        raise LineError("missing_required_parameter", "body: an object is needed.", "body")
    if not isinstance(body.model, str) or not body.model:
        raise LineError("missing_required_parameter", "body.model: the name of a model is needed.", "body.model")
    for name in ("stream", "background"):
        if getattr(body, name) not in (None, False):
            raise LineError("invalid_parameter", f"body.{name}: not in a batch.", f"body.{name}")
    return RequestLine(number, custom_id, bytes(fields.body), body.model)


# ---------------------------------------------------------------------------------------------- answers


def answer_json(status_code: int, request_id: str, body: bytes) -> bytes:
    """Encode an answer as its line has it."""
    try:
        msgspec.json.decode(body)
        value = msgspec.Raw(body)
    except ValueError:  # what is no JSON is told as text
        value = msgspec.Raw(msgspec.json.encode(body.decode(errors="replace")))
    return msgspec.json.encode({"status_code": status_code, "request_id": request_id, "body": value})


def answer_line(line_id: str, custom_id: str, answer: bytes) -> bytes:
    """Encode a line of a request that has an answer, with its line break."""
    return _line(line_id, custom_id, msgspec.Raw(answer), None)


def error_line(line_id: str, custom_id: str, code: str) -> bytes:
    """Encode a line of a request that has none, with its line break."""
    return _line(line_id, custom_id, None, {"code": code, "message": MESSAGES[code]})


def _line(line_id: str, custom_id: str, response: msgspec.Raw | None, error: dict[str, str] | None) -> bytes:
    fields = {"id": line_id, "custom_id": custom_id, "response": response, "error": error}
    return msgspec.json.encode(fields) + b"\n"


class _Details(msgspec.Struct):
    cached_tokens: int | None = 0
    reasoning_tokens: int | None = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Answer(msgspec.Struct):
    usage: _Usage | None = None


def usage_of(body: bytes) -> Usage:
    """Return the tokens that an answer tells of, in whichever of the endpoints' words."""
    try:
        usage = msgspec.json.decode(body, type=_Answer).usage or _Usage()
    except ValueError:
        usage = _Usage()
    read_details = usage.input_tokens_details or usage.prompt_tokens_details or _Details()
    written_details = usage.output_tokens_details or usage.completion_tokens_details or _Details()
    return Usage(
        input_tokens=usage.input_tokens or usage.prompt_tokens or 0,
        output_tokens=usage.output_tokens or usage.completion_tokens or 0,
        cached_tokens=read_details.cached_tokens or 0,
        reasoning_tokens=written_details.reasoning_tokens or 0,
    )
