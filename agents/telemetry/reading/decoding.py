"""What a decoder hands on, and how it says where a body is not what it should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import ParamSpec, TypeVar

from agents.base.errors import InvalidRequest
from agents.telemetry.reading.sanitize import text
from agents.telemetry.reading.spans import Span

T = TypeVar("T")
P = ParamSpec("P")

LONGEST_ID = 128
"""Characters of an id that a sender chose."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Spans in the sender's order. ``rejected`` counts things that could not be read, ``problem`` says
    what was wrong with them, '' if nothing was; ``ignored`` counts what was fine and is of no use here."""

    spans: list[Span] = field(default_factory=list)
    rejected: int = 0
    problem: str = ""
    ignored: int = 0


class Misshapen(Exception):
    """A value that is not what its format says. It learns on its way up where it stood."""

    def __init__(self, reason: str, at: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at

    def within(self, place: str) -> None:
        self.at = f"{place}.{self.at}" if self.at else place

    def refused(self) -> InvalidRequest:
        where = f"{self.at}: " if self.at else ""
        return InvalidRequest(f"{where}{self.reason}", code="invalid_body", param=self.at or None)


def inside(place: str, read: Callable[[object], T], value: object) -> T:
    """What ``read`` makes of ``value``; an error then names the place."""
    try:
        return read(value)
    except Misshapen as wrong:
        wrong.within(place)
        raise


def objects(body: dict[str, object], name: str) -> list[object]:
    """The list of this name; null and absent are an empty one."""
    value = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Misshapen(f"a list is expected, not {called(value)}.", name)
    return value


def fields(value: object) -> dict[str, object]:
    """The value, which must be an object."""
    if isinstance(value, dict):
        return value
    raise Misshapen(f"an object is expected, not {called(value)}.")


def called(value: object) -> str:
    """What JSON calls the type of a value."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def identifier(value: object) -> str:
    """An id that a sender chose: short text. '' of what is none."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_ID:
        return ""
    return text(value).strip()


def told(body: dict[str, object], name: str) -> str:
    """The text of this name, '' of anything else."""
    value = body.get(name)
    return text(value) if isinstance(value, str) else ""


def summary(count: int, thing: str, reason: str) -> str:
    """What is said of things that were rejected: '' of none."""
    if not count:
        return ""
    return f"1 {thing} was rejected: {reason}" if count == 1 else f"{count} {thing}s were rejected: {reason}"


def refusals(read: Callable[P, T]) -> Callable[P, T]:
    """A decoder whose `Misshapen` becomes an `InvalidRequest` that names the field."""

    @wraps(read)
    def reading(*args: P.args, **named: P.kwargs) -> T:
        try:
            return read(*args, **named)
        except Misshapen as wrong:
            raise wrong.refused() from wrong

    return reading
