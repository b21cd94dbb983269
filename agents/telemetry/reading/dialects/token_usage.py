"""Tokens as all dialects tell them, brought to one way of counting."""

from __future__ import annotations

from typing import Any

from agents.record.schemas.content import MAX_TOKENS, Usage
from agents.telemetry.reading.coerce import count


def token_usage(
    input_tokens: int, output_tokens: int, cached: int = 0, reasoning: int = 0, cache_written: int = 0
) -> Usage | None:
    """Our `Usage` counts each token once: input includes cached, output includes thoughts. Senders that leave the
    cached ones out (Anthropic's numbers) are known by more cached than read at all. None where nothing was counted."""
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
    """An object with usage in it, as OpenAI's, Anthropic's, LangChain's and others' models tell it."""
    if not isinstance(value, dict):
        return None
    given = _one(value, "input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "input", "prompt")
    got = _one(value, "output_tokens", "completion_tokens", "outputTokens", "completionTokens", "output", "completion")
    details = _inner(value, "input_tokens_details", "prompt_tokens_details", "input_token_details", "inputTokenDetails")
    more = _inner(
        value, "output_tokens_details", "completion_tokens_details", "output_token_details", "outputTokenDetails"
    )
    cached = _one(details, "cached_tokens", "cache_read", "cacheReadTokens") or _one(
        value,
        "cache_read_input_tokens",
        "cached_tokens",
        "cachedInputTokens",
        "cached_input_tokens",
        "input_cached_tokens",
        "cached",
        "cacheReadInputTokens",
    )
    thought = _one(more, "reasoning_tokens", "reasoning", "reasoningTokens") or _one(
        value, "reasoning_tokens", "reasoning_output_tokens", "reasoningTokens", "output_reasoning_tokens"
    )
    written = _one(value, "cache_creation_input_tokens") or _one(details, "cache_creation")
    return token_usage(given, got, cached, thought, written)


def _one(value: dict[str, Any], *names: str) -> int:
    for name in names:
        found = value.get(name)
        if found is not None:
            return count(found)
    return 0


def _inner(value: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        found = value.get(name)
        if isinstance(found, dict):
            return found
    return {}
