"""Shared parts of the decoders: their result, and errors that name the path of a wrong value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import ParamSpec, TypeVar

from agents.base.errors import InvalidRequest
from agents.telemetry.reading.sanitize import clean_text
from agents.telemetry.reading.spans import Span

T = TypeVar("T")
P = ParamSpec("P")

MAX_ID_CHARS = 128
"""Characters of an id that a sender chose."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result of a decoder: spans in the sender's order. ``rejected`` counts entries that could not be read,
    ``problem`` is the reason, '' if there were none; ``ignored`` counts entries that are valid and of no use here."""

    spans: list[Span] = field(default_factory=list)
    rejected: int = 0
    problem: str = ""
    ignored: int = 0


class FormatError(Exception):
    """A value that does not follow its format. Each level it passes on its way up is prepended to its path."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def prepend_path(self, parent: str) -> None:
        self.path = f"{parent}.{self.path}" if self.path else parent

    def as_invalid_request(self) -> InvalidRequest:
        prefix = f"{self.path}: " if self.path else ""
        return InvalidRequest(f"{prefix}{self.reason}", code="invalid_body", param=self.path or None)


def read_at(path: str, read: Callable[[object], T], value: object) -> T:
    """Return ``read(value)``; an error then names the path."""
    try:
        return read(value)
    except FormatError as error:
        error.prepend_path(path)
        raise


def list_field(body: dict[str, object], name: str) -> list[object]:
    """Return the list of this name; null and absent are an empty one."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise FormatError(f"a list is expected, not {json_type_name(value)}.", name)
    return value


def as_object(value: object) -> dict[str, object]:
    """Return the value, which must be an object."""
    if isinstance(value, dict):
        return value
    raise FormatError(f"an object is expected, not {json_type_name(value)}.")


def json_type_name(value: object) -> str:
    """Return JSON's name for the type of a value, with its article."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def identifier(value: object) -> str:
    """Return an id that a sender chose: short text. '' of what is none."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_CHARS:
        return ""
    return clean_text(value).strip()


def text_field(body: dict[str, object], name: str) -> str:
    """Return the text of this name, '' of anything else."""
    value = body.get(name)
    return clean_text(value) if isinstance(value, str) else ""


def rejection_summary(count: int, noun: str, reason: str) -> str:
    """Return a sentence about the rejected entries: '' of none."""
    if not count:
        return ""
    return f"1 {noun} was rejected: {reason}" if count == 1 else f"{count} {noun}s were rejected: {reason}"


def raises_invalid_request(read: Callable[P, T]) -> Callable[P, T]:
    """Decorate a decoder so that its `FormatError` becomes an `InvalidRequest` that names the field."""

    @wraps(read)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except FormatError as error:
            raise error.as_invalid_request() from error

    return wrapper
