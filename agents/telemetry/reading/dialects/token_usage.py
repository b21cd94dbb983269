"""Token usage of all dialects, converted to one way of counting."""

from __future__ import annotations

from agents.record.schemas.content import MAX_TOKENS, Usage


def token_usage(
    input_tokens: int, output_tokens: int, cached: int = 0, reasoning: int = 0, cache_written: int = 0
) -> Usage | None:
    """Build our `Usage`, which counts each token once: input includes cached, output includes reasoning. Senders that
    leave the cached ones out (Anthropic's numbers) are recognized by more cached than input tokens. None where nothing
    was counted."""
    if not (input_tokens or output_tokens):
        return None
    if cached + cache_written > input_tokens:
        input_tokens += cached + cache_written
    if reasoning > output_tokens:
        output_tokens += reasoning
    return Usage(
        input_tokens=min(input_tokens, MAX_TOKENS),
        output_tokens=min(output_tokens, MAX_TOKENS),
        cached_tokens=min(cached, MAX_TOKENS),
        reasoning_tokens=min(reasoning, MAX_TOKENS),
    )
