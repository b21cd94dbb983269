"""Convert values that rows of several levels have."""

from __future__ import annotations

from agents.logs.schemas.rows import TokenCounts


def milliseconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1000


def dollars(nano: int | None) -> float | None:
    return None if nano is None else nano / 1e9


UNKNOWN_TOKENS = TokenCounts(
    input_tokens=None, output_tokens=None, cached_tokens=None, reasoning_tokens=None, total_tokens=None
)


def tokens(
    input_tokens: int, output_tokens: int, cached_tokens: int, reasoning_tokens: int, *, has_inference: bool = False
) -> TokenCounts:
    """Return the tokens of a row. An ended call of a model took some: where the sum over calls (``has_inference``) is
    0, it is unknown. The columns hold 0 then, as those of steps that call none."""
    if has_inference and not (input_tokens or output_tokens):
        return UNKNOWN_TOKENS
    return TokenCounts(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=cached_tokens,
        reasoning_tokens=reasoning_tokens,
        total_tokens=input_tokens + output_tokens,
    )
