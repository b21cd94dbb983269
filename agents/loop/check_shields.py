"""Checking by several shields at once: what they found, the gravest of it, and in good time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents.base.errors import ProviderError
from agents.loop.protocols.shields import Said, Shield, Touchpoint
from agents.record.schemas.content import SafetyViolation

CHECK_S = 30.0
"""How long one shield may take. One that has not judged by then has failed."""

_ORDER = {"info": 0, "warn": 1, "error": 2}


async def check(
    shields: Sequence[Shield], said: Sequence[Said], touchpoint: Touchpoint, *, within_s: float = CHECK_S
) -> SafetyViolation | None:
    """The gravest violation that any of them found, with the shield's id in its metadata. What
    failed to judge raises its AgentsError, unless another shield refuses anyway."""
    work = (_in_time(shield, said, touchpoint, within_s) for shield in shields)
    found = await asyncio.gather(*work, return_exceptions=True)
    gravest = _gravest([one for one in found if isinstance(one, SafetyViolation)])
    if gravest and gravest.violation_level == "error":
        return gravest
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return gravest


async def _in_time(
    shield: Shield, said: Sequence[Said], touchpoint: Touchpoint, within_s: float
) -> SafetyViolation | None:
    try:
        async with asyncio.timeout(within_s):
            found = await shield.check(said, touchpoint)
    except TimeoutError:
        words = f"shield '{shield.name}' did not judge within {within_s:g} s"
        raise ProviderError(words, provider=shield.name, code="timeout") from None
    return found and found.model_copy(update={"metadata": {**found.metadata, "shield_id": shield.name}})


def _gravest(violations: Sequence[SafetyViolation]) -> SafetyViolation | None:
    """The first of the gravest."""
    return max(violations, key=lambda one: _ORDER[one.violation_level], default=None)
