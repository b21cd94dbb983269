"""The shield protocol: looks at messages, says whether they may pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.record.schemas.content import SafetyViolation

Touchpoint = Literal["user-input", "assistant-output"]


@dataclass(frozen=True, slots=True)
class Said:
    """The words of one message, and on whose side they were said."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ShieldSpec:
    """A shield as settings and requests describe it: the id agents name it by, the provider that
    checks, what that provider looks with (a model as ``endpoint/model``), and its parameters."""

    name: str
    provider: str
    resource: str = ""
    params: dict[str, Any] = field(default_factory=dict)


class Shield(Protocol):
    """One shield under the id agents name it by."""

    @property
    def name(self) -> str: ...

    async def check(self, said: Sequence[Said], touchpoint: Touchpoint) -> SafetyViolation | None:
        """None when all may pass. Only level ``error`` stops a turn. What cannot be judged has not
        passed: raises ProviderError."""
        ...


def looked_at(said: Sequence[Said], touchpoint: Touchpoint) -> list[str]:
    """The words of the side that is being checked."""
    side = "user" if touchpoint == "user-input" else "assistant"
    return [one.text for one in said if one.role == side]
