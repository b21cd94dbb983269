"""What a decoder hands on, and how it says where a body is not what it should be."""

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
    """Spans in the sender's order. ``rejected`` counts things that could not be read, ``problem`` says
    what was wrong with them, '' if nothing was; ``ignored`` counts what was fine and is of no use here."""

    spans: list[Span] = field(default_factory=list)
    rejected: int = 0
    problem: str = ""
    ignored: int = 0


class FormatError(Exception):
    """A value that is not what its format says. It learns on its way up where it stood."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def prepend_path(self, place: str) -> None:
        self.path = f"{place}.{self.path}" if self.path else place

    def as_invalid_request(self) -> InvalidRequest:
        where = f"{self.path}: " if self.path else ""
        return InvalidRequest(f"{where}{self.reason}", code="invalid_body", param=self.path or None)


def read_at(place: str, read: Callable[[object], T], value: object) -> T:
    """What ``read`` makes of ``value``; an error then names the place."""
    try:
        return read(value)
    except FormatError as wrong:
        wrong.prepend_path(place)
        raise


def list_field(body: dict[str, object], name: str) -> list[object]:
    """The list of this name; null and absent are an empty one."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise FormatError(f"a list is expected, not {json_type_name(value)}.", name)
    return value


def as_object(value: object) -> dict[str, object]:
    """The value, which must be an object."""
    if isinstance(value, dict):
        return value
    raise FormatError(f"an object is expected, not {json_type_name(value)}.")


def json_type_name(value: object) -> str:
    """What JSON calls the type of a value."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def identifier(value: object) -> str:
    """An id that a sender chose: short text. '' of what is none."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_CHARS:
        return ""
    return clean_text(value).strip()


def text_field(body: dict[str, object], name: str) -> str:
    """The text of this name, '' of anything else."""
    value = body.get(name)
    return clean_text(value) if isinstance(value, str) else ""


def rejection_summary(count: int, thing: str, reason: str) -> str:
    """What is said of things that were rejected: '' of none."""
    if not count:
        return ""
    return f"1 {thing} was rejected: {reason}" if count == 1 else f"{count} {thing}s were rejected: {reason}"


def raises_invalid_request(read: Callable[P, T]) -> Callable[P, T]:
    """A decoder whose `Misshapen` becomes an `InvalidRequest` that names the field."""

    @wraps(read)
    def reading(*args: P.args, **named: P.kwargs) -> T:
        try:
            return read(*args, **named)
        except FormatError as wrong:
            raise wrong.as_invalid_request() from wrong

    return reading
