"""Token usage of all dialects, converted to one way of counting."""

from __future__ import annotations

from typing import Any

from agents.record.schemas.content import MAX_TOKENS, Usage
from agents.telemetry.reading.coerce import count


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


def usage_of(value: Any) -> Usage | None:
    """Read a usage object of OpenAI's, Anthropic's, LangChain's and other models."""
    if not isinstance(value, dict):
        return None
    input_tokens = _first_count(
        value, "input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "input", "prompt"
    )
    output_tokens = _first_count(
        value, "output_tokens", "completion_tokens", "outputTokens", "completionTokens", "output", "completion"
    )
    input_details = _first_object(
        value, "input_tokens_details", "prompt_tokens_details", "input_token_details", "inputTokenDetails"
    )
    output_details = _first_object(
        value, "output_tokens_details", "completion_tokens_details", "output_token_details", "outputTokenDetails"
    )
    cached = _first_count(input_details, "cached_tokens", "cache_read", "cacheReadTokens") or _first_count(
        value,
        "cache_read_input_tokens",
        "cached_tokens",
        "cachedInputTokens",
        "cached_input_tokens",
        "input_cached_tokens",
        "cached",
        "cacheReadInputTokens",
    )
    reasoning = _first_count(output_details, "reasoning_tokens", "reasoning", "reasoningTokens") or _first_count(
        value, "reasoning_tokens", "reasoning_output_tokens", "reasoningTokens", "output_reasoning_tokens"
    )
    cache_written = _first_count(value, "cache_creation_input_tokens") or _first_count(input_details, "cache_creation")
    return token_usage(input_tokens, output_tokens, cached, reasoning, cache_written)


def _first_count(value: dict[str, Any], *names: str) -> int:
    for name in names:
        number = value.get(name)
        if number is not None:
            return count(number)
    return 0


def _first_object(value: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        details = value.get(name)
        if isinstance(details, dict):
            return details
    return {}
