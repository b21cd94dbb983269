"""Two turns with their steps, compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agents.forks.comparison.alignment import Element, Pair, align
from agents.forks.schemas.comparison import Comparison, Difference, PairCounts, StepPair, StepSide, TextDifference
from agents.logs.schemas.rows import TurnRow
from agents.record.schemas import step_texts
from agents.record.schemas.events import Origin
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.uikit.text_diff import MAX_PARTS, diff

_WORD = re.compile(r"\w+")
SIMILARITY_CHARS = 4_000
"""Characters of a step by which it is found how close two are."""
MAX_DIFF_CHARS = 1_000_000
"""Characters that are compared word by word."""


@dataclass(frozen=True, slots=True)
class TurnToCompare:
    """A turn with the steps of it that are compared, how many it has, and what it ran with, by name."""

    turn: TurnSnapshot
    row: TurnRow
    steps: Sequence[StepSnapshot]
    total: int
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _ParsedStep:
    step: StepSnapshot
    detail: dict[str, Any]
    texts: dict[str, str]

    @property
    def element(self) -> Element:
        step = self.step
        words = frozenset(_WORD.findall(" ".join(self.texts.values())[:SIMILARITY_CHARS]))
        sizes = tuple(cut.size for cut in step.cuts)
        key = (step.type, step.name, step.status, tuple(self.texts.items()), sizes)
        return Element(key, (step.type, "" if step.type == "inference" else step.name), words)


class _TextDiffer:
    """Compares texts, in less detail once it has compared many."""

    def __init__(self) -> None:
        self._left = MAX_DIFF_CHARS

    def text(self, name: str, a: str, b: str, *, cut: bool = False) -> TextDifference:
        parts = diff(a, b, MAX_PARTS if self._left > 0 else 0)
        self._left -= 0 if a == b else len(a) + len(b)
        return TextDifference(name=name, same=a == b, pieces=parts, cut=cut)


def compare(a: TurnToCompare, b: TurnToCompare, fork: int | None = None) -> Comparison:
    """What is the same in two turns and what is not."""
    first, second = _parsed(a.steps), _parsed(b.steps)
    alignment = align([step.element for step in first], [step.element for step in second])
    differ = _TextDiffer()
    texts = _message_diffs(differ, a.turn, b.turn)
    pairs = [_pair(differ, first, second, pair) for pair in alignment.pairs]
    counts = Counter(pair.kind for pair in pairs)
    return Comparison(
        a=a.row,
        b=b.row,
        fork=fork,
        facts=_facts(a, b),
        parameters=_differences(a.parameters, b.parameters),
        texts=texts,
        steps=pairs,
        counts=PairCounts.model_validate(dict(counts)),
        in_order=alignment.in_order,
        left_out=a.total - len(a.steps) + b.total - len(b.steps),
    )


def _parsed(steps: Sequence[StepSnapshot]) -> list[_ParsedStep]:
    out = []
    for step in steps:
        detail = step_texts.detail_of(step)
        out.append(_ParsedStep(step, detail, step_texts.texts_of(step, detail)))
    return out


# -------------------------------------------------------------------------------------------- the whole


def _facts(a: TurnToCompare, b: TurnToCompare) -> list[Difference]:
    return [
        _difference(name, value, other)
        for (name, value), other in zip(_fact_values(a), dict(_fact_values(b)).values(), strict=True)
    ]


def _fact_values(side: TurnToCompare) -> list[tuple[str, Any]]:
    row = side.row
    return [
        ("status", row.status),
        ("stop_reason", row.stop_reason),
        ("model", row.model),
        ("duration_ms", row.duration_ms),
        ("ttft_ms", row.ttft_ms),
        ("input_tokens", row.usage.input_tokens),
        ("output_tokens", row.usage.output_tokens),
        ("cost_usd", row.cost_usd),
        ("steps", side.total),
        ("tools", row.counts.tools),
        ("errors", row.counts.errors),
    ]


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    return [_difference(name, a.get(name), b.get(name)) for name in dict.fromkeys([*a, *b])]


def _difference(name: str, a: Any, b: Any) -> Difference:
    numbers = isinstance(a, int | float) and isinstance(b, int | float) and not isinstance(a, bool)
    return Difference(name=name, a=a, b=b, same=a == b, change=b - a if numbers else None)


def _message_diffs(differ: _TextDiffer, a: TurnSnapshot, b: TurnSnapshot) -> list[TextDifference]:
    question = differ.text("input", step_texts.input_text(a.input_messages), step_texts.input_text(b.input_messages))
    answer = differ.text("output", step_texts.output_text(a.output_message), step_texts.output_text(b.output_message))
    return [question, answer]


# -------------------------------------------------------------------------------------------- the steps


def _pair(differ: _TextDiffer, first: Sequence[_ParsedStep], second: Sequence[_ParsedStep], pair: Pair) -> StepPair:
    a = None if pair[0] is None else first[pair[0]]
    b = None if pair[1] is None else second[pair[1]]
    if a is None or b is None:
        return _single(differ, a, b)
    if a.element.key == b.element.key:
        return StepPair(kind="same", type=a.step.type, a=_step_side(a), b=_step_side(b))
    values = [
        _difference(name, first_value, second_value)
        for name, first_value, second_value in (
            ("name", a.step.name, b.step.name),
            ("status", a.step.status, b.step.status),
        )
        if first_value != second_value
    ]
    names = dict.fromkeys([*a.texts, *b.texts])
    cut = bool(a.step.cuts or b.step.cuts)
    texts = [differ.text(name, a.texts.get(name, ""), b.texts.get(name, ""), cut=cut) for name in names]
    return StepPair(kind="changed", type=a.step.type, a=_step_side(a), b=_step_side(b), values=values, texts=texts)


def _single(differ: _TextDiffer, a: _ParsedStep | None, b: _ParsedStep | None) -> StepPair:
    step = a or b
    assert step is not None  # a pair has at least one side
    texts = [
        differ.text(name, text if a else "", text if b else "", cut=bool(step.step.cuts))
        for name, text in step.texts.items()
    ]
    sides = (_step_side(a) if a else None, _step_side(b) if b else None)
    return StepPair(kind="deleted" if a else "inserted", type=step.step.type, a=sides[0], b=sides[1], texts=texts)


def _step_side(parsed: _ParsedStep) -> StepSide:
    step = parsed.step
    ended = step.completed_at
    return StepSide(
        id=step.key,
        place=step.number + 1,
        name=step.name,
        status=step.status,
        duration_ms=None if ended is None else max(ended - step.started_at, 0) / 1000,
        ttft_ms=None if step.ttft_us is None else step.ttft_us / 1000,
        input_tokens=step.usage.input_tokens,
        output_tokens=step.usage.output_tokens,
        origin=origin_of(parsed.detail),
    )


def origin_of(detail: Mapping[str, Any]) -> Origin | None:
    """Where a step of a fork has its outcome from."""
    try:
        return Origin.model_validate(detail["origin"]) if detail.get("origin") else None
    except ValidationError:
        return None
