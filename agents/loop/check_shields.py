"""Checks messages with several shields concurrently, each with a timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents.base.errors import ProviderError
from agents.loop.protocols.shields import ShieldInput, ShieldProtocol, Touchpoint
from agents.record.schemas.content import SafetyViolation

CHECK_S = 30.0
"""The timeout of one shield. A shield that exceeds it has failed."""

_SEVERITY = {"info": 0, "warn": 1, "error": 2}


async def check(
    shields: Sequence[ShieldProtocol],
    messages: Sequence[ShieldInput],
    touchpoint: Touchpoint,
    *,
    within_s: float = CHECK_S,
) -> SafetyViolation | None:
    """Return the gravest violation of all shields, with the shield's id in its metadata. A shield that
    fails raises its AgentsError, unless another shield's violation is of level ``error``."""
    checks = (_check_in_time(shield, messages, touchpoint, within_s) for shield in shields)
    results = await asyncio.gather(*checks, return_exceptions=True)
    gravest = _gravest([result for result in results if isinstance(result, SafetyViolation)])
    if gravest and gravest.violation_level == "error":
        return gravest
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return gravest


async def _check_in_time(
    shield: ShieldProtocol, messages: Sequence[ShieldInput], touchpoint: Touchpoint, within_s: float
) -> SafetyViolation | None:
    try:
        async with asyncio.timeout(within_s):
            violation = await shield.check(messages, touchpoint)
    except TimeoutError:
        message = f"shield '{shield.name}' did not judge within {within_s:g} s"
        raise ProviderError(message, provider=shield.name, code="timeout") from None
    return violation and violation.model_copy(update={"metadata": {**violation.metadata, "shield_id": shield.name}})


def _gravest(violations: Sequence[SafetyViolation]) -> SafetyViolation | None:
    """Return the first of the gravest violations."""
    return max(violations, key=lambda one: _SEVERITY[one.violation_level], default=None)
