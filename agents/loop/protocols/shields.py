"""The shield protocol: checks messages and returns a violation, if there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.record.schemas.content import SafetyViolation

Touchpoint = Literal["user-input", "assistant-output"]


@dataclass(frozen=True, slots=True)
class ShieldInput:
    """The text of one message and the role of its author."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ShieldSpec:
    """A shield as settings and requests describe it: the id that agents use, the provider that checks, the
    provider's resource (a model as ``endpoint/model``), and its parameters."""

    name: str
    provider: str
    resource: str = ""
    params: dict[str, Any] = field(default_factory=dict)


class ShieldProtocol(Protocol):
    """One shield, under the id that agents use."""

    @property
    def name(self) -> str: ...

    async def check(self, messages: Sequence[ShieldInput], touchpoint: Touchpoint) -> SafetyViolation | None:
        """Check messages; returns None if there is no violation. Only level ``error`` stops a turn. Raises
        ProviderError where it cannot check: the messages have not passed then."""
        ...


def checked_texts(messages: Sequence[ShieldInput], touchpoint: Touchpoint) -> list[str]:
    """Return the texts of the role that a touchpoint checks."""
    side = "user" if touchpoint == "user-input" else "assistant"
    return [message.text for message in messages if message.role == side]
