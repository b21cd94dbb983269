"""The base of all wire types, and the scalar types they share."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from agents import ids
from agents.moments import to_us

JSON = Any
"""Raw JSON as decoded: the one place where ``Any`` is allowed."""


def null_is(default: object) -> BeforeValidator:
    """Take null for a field's default: clients write out every field they know."""
    return BeforeValidator(lambda value: default if value is None else value)


class Wire(BaseModel):
    """A frozen value on the wire. Unknown fields of a request are ignored (newer clients must
    not break), and non-finite numbers refused."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Sent(Wire):
    """A value only we send: an undeclared field is our own mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def iso(at_us: int) -> str:
    """Microseconds since 1970 as ISO-8601 UTC with six decimals and a ``Z``."""
    seconds, micros = divmod(at_us, 1_000_000)
    return f"{_second(seconds)}.{micros:06d}Z"


@lru_cache(maxsize=8192)
def _second(seconds: int) -> str:
    """What is slow about it, remembered: the moments of a session lie close together."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def _moment(value: Any) -> Any:
    """Read a moment: microseconds as they are, ISO-8601 text or a datetime converted. Without a zone it is UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return to_us(value if value.tzinfo else value.replace(tzinfo=UTC))
    return value


Moment = Annotated[int, BeforeValidator(_moment), PlainSerializer(iso, return_type=str, when_used="json")]
"""A moment: microseconds since 1970 inside, ISO-8601 UTC in JSON."""


def _key_of(kind: ids.Kind) -> Any:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            key = ids.parse(kind, value)
            if key is None:
                raise ValueError(f"not the id of a {kind.name.lower()}")
            return key
        return value

    def write(key: int) -> str:
        return ids.public(kind, key)

    return Annotated[int, BeforeValidator(read), PlainSerializer(write, return_type=str, when_used="json")]


AgentKey = _key_of(ids.Kind.AGENT)
SessionKey = _key_of(ids.Kind.SESSION)
TurnKey = _key_of(ids.Kind.TURN)
StepKey = _key_of(ids.Kind.STEP)
