"""Reads any dialect's table: one function, compiled once for each table, with the sources of each kind chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agents.telemetry.reading import kinds
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.source import Source, Values
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.spans import Span

Reader = Callable[[Span], SpanFacts | None]
Finish = Callable[[SpanFacts, Values, Span], None]
KindOf = Callable[[str, Span], str]


class But:
    """All kinds but these."""

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds


Row = str | Source | tuple[str | Source, ...]
"""The names that carry a fact, or sources, in the order in which they count."""
Condition = str | tuple[str, ...] | But
"""The kinds of spans that rows are for: one, several, or all but some."""
EVERY = But()
_VALUES: dict[str, Callable[..., Source]] = {
    **dict.fromkeys(("input", "output", "arguments", "result", "tools", "instructions"), source.value),
    "input_messages": source.messages,
    "output_messages": source.answer,
    "usage": source.usage,
    "cost_nano": source.dollars,
    "ttft_us": source.milliseconds,
}
"""What is read under the names of each fact; of all others texts."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The table of a dialect; the docstring of the package explains its parts."""

    sender_kind: str | Source
    facts: Mapping[Condition, Mapping[str, Row]]
    markers: tuple[str, ...] = ()
    values: Callable[[Span], Values] = field(default=lambda span: span.attributes)
    kinds: Mapping[str, str] | KindOf = field(default=lambda name, _: kinds.kind_of(name))
    finish: Mapping[Condition, Finish] = field(default_factory=dict)


def markers_of(dialect: Dialect) -> tuple[str, ...]:
    """Return the attributes of which a span of this dialect has one; none where it may have any."""
    return (dialect.sender_kind,) if isinstance(dialect.sender_kind, str) else dialect.markers


def reader_of(dialect: Dialect) -> Reader:
    """Compile a table into the function that reads a span; it returns None where the span is not of this dialect."""
    markers, values_of = markers_of(dialect), dialect.values
    sender_kind = dialect.sender_kind
    sender_kind_of = source.text(sender_kind) if isinstance(sender_kind, str) else sender_kind
    own = dialect.kinds
    kind_of: KindOf = own if callable(own) else lambda name, _: own.get(name, "")
    conditions = (*dialect.facts, *dialect.finish)
    by_kind = {kind: _compile(dialect, kind) for condition in conditions for kind in _kinds_in(condition)}
    others = _compile(dialect, None)

    def read(span: Span) -> SpanFacts | None:
        values = values_of(span)
        name_of_kind = sender_kind_of(values, span)
        if name_of_kind is None:
            return None
        kind = kind_of(name_of_kind, span)
        facts = SpanFacts(kind, name_of_kind)
        sources, finishers = by_kind.get(kind, others)
        for name, get in sources:
            value = get(values, span)
            if value is not None:
                setattr(facts, name, value)
        for finish in finishers:
            finish(facts, values, span)
        return facts

    def read_marked(span: Span) -> SpanFacts | None:
        for marker in markers:
            if marker in span.attributes:
                return read(span)
        return None

    return read_marked if markers else read


def _kinds_in(condition: Condition) -> tuple[str, ...]:
    if isinstance(condition, But):
        return condition.kinds
    return (condition,) if isinstance(condition, str) else condition


def _compile(dialect: Dialect, kind: str | None) -> tuple[list[tuple[str, Source]], list[Finish]]:
    """Return what is read of a kind, None for the kinds that no condition names. Of two rows the later counts."""
    rows: dict[str, Row] = {}
    for condition, group in dialect.facts.items():
        if _applies(condition, kind):
            rows |= group
    if unknown := rows.keys() - {*SpanFacts.__struct_fields__}:
        raise ValueError(f"no such facts: {sorted(unknown)}")
    sources = [(fact, _source(fact, row)) for fact, row in rows.items()]
    return sources, [finish for condition, finish in dialect.finish.items() if _applies(condition, kind)]


def _source(fact: str, row: Row) -> Source:
    if callable(row):
        return row
    make = _VALUES.get(fact, source.text)
    names = (row,) if isinstance(row, str) else row
    if any(callable(name) for name in names):
        return source.either(*(_source(fact, name) for name in names))
    return make(*names)


def _applies(condition: Condition, kind: str | None) -> bool:
    return (kind in _kinds_in(condition)) != isinstance(condition, But)
