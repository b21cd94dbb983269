"""Convert values that rows of several levels have."""

from __future__ import annotations

from agents.logs.schemas.rows import TokenCounts


def milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1000


def dollars(nano: int | None) -> float | None:
    return None if nano is None else nano / 1e9


def tokens(input: int, output: int, cached: int, reasoning: int) -> TokenCounts:
    return TokenCounts(
        input_tokens=input,
        output_tokens=output,
        cached_tokens=cached,
        reasoning_tokens=reasoning,
        total_tokens=input + output,
    )
