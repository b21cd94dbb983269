"""Convert values that rows of several levels have."""

from __future__ import annotations

from agents.logs.schemas.rows import TokenCounts


def milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1000


def dollars(nano: int | None) -> float | None:
    return None if nano is None else nano / 1e9


def tokens(input_tokens: int, output_tokens: int, cached_tokens: int, reasoning_tokens: int) -> TokenCounts:
    return TokenCounts(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens,
        reasoning_tokens=reasoning_tokens,
        total_tokens=input_tokens + output_tokens,
    )
