"""The sources of facts in a dialect's table, where a row says more than the names of attributes.

Each of these makes a `Source`, which reads one fact; None where the span lacks it. Of several names the first that has
a value counts; ``"extra > metadata > model"`` is a name inside objects. A function of a dialect's own can be a source,
too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from agents.telemetry.reading import coerce
from agents.telemetry.reading.coerce import count, json_of, mapping, microseconds
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.facts import HistoryMessage, LazyMessages
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span

Values = Mapping[str, Any]
"""What the names of a table are looked up in: the span's attributes, or an object in place of them."""
Source = Callable[[Values, Span], Any]
Names = str | tuple[str, ...]
_DETAILS = (
    *("input_tokens_details", "prompt_tokens_details", "input_token_details", "inputTokenDetails"),
    *("output_tokens_details", "completion_tokens_details", "output_token_details", "outputTokenDetails"),
)


def converted(convert: Callable[[Any], Any], *names: str) -> Source:
    """Read a value by a function. One that it makes None or '' of does not count."""
    if any(" > " in name for name in names):
        return either(*(_inside(name.split(" > "), convert) for name in names))
    if len(names) == 1:
        return _converted_one(convert, *names)

    def read(values: Values, _: Span) -> Any:
        for name in names:
            value = values.get(name)
            if value is not None and value != "":
                value = convert(value)
                if value is not None and value != "":
                    return value
        return None

    return read


def _converted_one(convert: Callable[[Any], Any], name: str) -> Source:
    """The same for one name, as most rows have."""

    def read(values: Values, _: Span) -> Any:
        value = values.get(name)
        if value is None or value == "":
            return None
        value = convert(value)
        return None if value == "" else value

    return read


def _inside(path: list[str], convert: Callable[[Any], Any]) -> Source:
    *outer, name = path
    last = converted(convert, name)

    def read(values: Values, span: Span) -> Any:
        for key in outer:
            values = mapping(values.get(key))
        return last(values, span)

    return read


def either(*sources: Source) -> Source:
    """Read a fact from the first of these that has it."""

    def read(values: Values, span: Span) -> Any:
        for source in sources:
            value = source(values, span)
            if value is not None and value != "":
                return value
        return None

    return read


value = partial(converted, lambda value: value)  # as it came
text = partial(converted, coerce.text)
json = partial(converted, json_of)  # an object, a list or a text, if it is written as JSON
json_text = partial(converted, lambda value: coerce.text(json_of(value)))
dollars = partial(converted, coerce.nano_dollars)  # in nano dollars
seconds = partial(converted, lambda value: microseconds(value, 1e6))  # in microseconds
milliseconds = partial(converted, lambda value: microseconds(value, 1e3))  # in microseconds


def messages(*names: str, read: Callable[[Any], list[HistoryMessage]] = read_input) -> Source:
    """Read messages on first use; of a history, unless told otherwise, in whatever shape."""
    return converted(lambda value: LazyMessages(value, read), *names)


answer = partial(messages, read=read_output)


def gathered(prefixes: Names, read_all: Callable[[Values], list[HistoryMessage]]) -> Source:
    """Read messages from all attributes together, if a name begins so: each part may be an attribute of its own."""

    def read(values: Values, _: Span) -> Any:
        for name in values:
            if name.startswith(prefixes):
                return LazyMessages(values, read_all)
        return None

    return read


def tokens(
    *, input: Names, output: Names, cached: Names = (), reasoning: Names = (), written: Names = (), apart: bool = False
) -> Source:
    """Read tokens, each number from an attribute of its own; with ``apart`` the input lacks those of the cache, which
    were ``cached`` before or ``written`` now."""
    input_at, output_at, cached_at, reasoning_at, written_at = (
        converted(count, *((names,) if isinstance(names, str) else names))
        for names in (input, output, cached, reasoning, written)
    )

    def read(values: Values, span: Span) -> Any:
        input_tokens, output_tokens = input_at(values, span) or 0, output_at(values, span) or 0
        if not (input_tokens or output_tokens or apart):
            return None
        cached, written = cached_at(values, span) or 0, written_at(values, span) or 0
        if apart:
            input_tokens, written = input_tokens + cached + written, 0
        return token_usage(input_tokens, output_tokens, cached, reasoning_at(values, span) or 0, written)

    return read


_numbers = tokens(
    input=("input_tokens", "prompt_tokens", "inputTokens", "promptTokens", "input", "prompt"),
    output=("output_tokens", "completion_tokens", "outputTokens", "completionTokens", "output", "completion"),
    cached=(
        *("cached_tokens", "cache_read", "cacheReadTokens", "cache_read_input_tokens", "cachedInputTokens"),
        *("cached_input_tokens", "input_cached_tokens", "cached", "cacheReadInputTokens"),
    ),
    reasoning=(
        *("reasoning_tokens", "reasoning", "reasoningTokens", "reasoning_output_tokens", "output_reasoning_tokens"),
    ),
    written=("cache_creation_input_tokens", "cache_creation"),
)


def usage(*names: str) -> Source:
    """Read tokens from one object, of OpenAI's, Anthropic's, LangChain's and other models."""
    flat = converted(_with_details, *names)
    return lambda values, span: _numbers(flat(values, span) or {}, span)


def _with_details(value: Any) -> Values | None:
    """Return a usage object with the numbers of its details, which have names of their own."""
    numbers = mapping(value)
    details = [numbers[name] for name in _DETAILS if isinstance(numbers.get(name), dict)]
    return {**numbers, **{name: number for inner in details for name, number in inner.items() if number}} or None


def present(*names: str) -> Source:
    """Read an object of those of these values that say something."""
    return lambda values, _: {name: values[name] for name in names if values.get(name)} or None


def constant(value: Any) -> Source:
    return lambda _values, _span: value


def span_name(_: Values, span: Span) -> str:
    return span.name
