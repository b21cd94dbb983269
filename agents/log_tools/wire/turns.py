"""A turn with an outline of its steps, a step with all its texts, and the calls that a turn waits for."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.log_tools.wire.bounds import cut, one_line
from agents.log_tools.wire.rows import NAME_CHARS, PREVIEW_CHARS, duration_text, error_text, turn_row
from agents.logs.schemas.rows import TurnRow
from agents.record.schemas import step_texts
from agents.record.schemas.content import ToolCall
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot

TEXT_SHARE, MAX_TEXT_CHARS = 8, 1_000
"""A turn's input, output and error above its steps may each take so much of the answer, and at most so many
characters; likewise the error of a step."""
PREVIEW_SHARE = 16
"""What of the answer the beginning of a step's text may take."""
ARGUMENT_CHARS = 400
"""Characters of the arguments of a call that is waited for."""


@dataclass(frozen=True, slots=True)
class TurnOutline:
    """Writes a turn and its steps for an answer of ``max_chars``, so that the shortest answer leads further, too."""

    max_chars: int

    def turn(self, turn: TurnSnapshot, row: TurnRow, total: int, failed: int | None) -> str:
        """Write a turn without its steps; ``failed`` is the number of the first failed one, from 0."""
        lines = [self.line(row)]
        lines.append(f"  session {ids.public(ids.Kind.SESSION, turn.session)} {one_line(row.session_name, NAME_CHARS)}")
        lines += [f"error: {error_text(turn.error, self._text_chars)}"] if turn.error else []
        lines += self._beginning("input", step_texts.input_text(turn.input_messages))
        lines += self._beginning("output", step_texts.output_text(turn.output_message))
        lines.append(f"steps: {total}" + (f"; the first that failed is no. {failed + 1}" if failed is not None else ""))
        return "\n".join(lines)

    @staticmethod
    def line(row: TurnRow) -> str:
        """Write a turn on one line."""
        return turn_row(row).partition("\n")[0]

    def step(self, step: StepSnapshot) -> str:
        """Write the beginnings of a step's texts."""
        detail = step_texts.detail_of(step)
        texts = {name: text for name, text in step_texts.texts_of(step, detail).items() if name != "error"}
        size = min(self.max_chars // PREVIEW_SHARE, PREVIEW_CHARS)
        lines = [_step_line(step), *(f"  {name}: {one_line(text, size)}" for name, text in texts.items())]
        lines += [f"  error: {error_text(step.error, self._text_chars)}"] if step.error else []
        return "\n".join(lines)

    @property
    def _text_chars(self) -> int:
        return min(self.max_chars // TEXT_SHARE, MAX_TEXT_CHARS)

    def _beginning(self, part: str, text: str) -> list[str]:
        if len(text) <= self._text_chars:
            return [f"{part}: {text}"] if text else []
        return [f"{part}: {cut(text, self._text_chars)} (all of it: part='{part}')"]


def _step_line(step: StepSnapshot) -> str:
    ended = step.completed_at
    facts = [
        f"no. {step.number + 1} {step.type} {one_line(step.name, NAME_CHARS)}",
        step.status,
        duration_text(None if ended is None else max(ended - step.started_at, 0) / 1000),
        "" if step.server_side else "run by the client",
        f"step {ids.public(ids.Kind.STEP, step.key)}",
    ]
    return " | ".join(filter(None, facts))


def step_chunks(turn: int, step: StepSnapshot) -> Iterator[str]:
    """Yield a step with all of its texts."""
    yield f"{_step_line(step)}\nof turn {ids.public(ids.Kind.TURN, turn)}\n"
    if step.usage.input_tokens or step.usage.output_tokens:
        yield f"tokens: {step.usage.input_tokens:,} in, {step.usage.output_tokens:,} out\n"
    for name, text in step_texts.texts_of(step, step_texts.detail_of(step)).items():
        yield f"\n{name} ({len(text):,} characters):\n"
        yield f"{text}\n"


def large_step_chunks(turn: int, step: StepSnapshot, detail: Iterator[bytes]) -> Iterator[str]:
    """Yield a step that is too large to be taken apart: its detail is the JSON as it is stored."""
    yield f"{_step_line(step)}\nof turn {ids.public(ids.Kind.TURN, turn)}\n\ndetail (JSON):\n"
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    yield from (decoder.decode(chunk) for chunk in detail)


def in_doubt(steps: Sequence[StepSnapshot]) -> str:
    """Write the calls of a turn that somebody has to decide about."""
    lines = ["The turn waits for a decision about these calls, whose process was lost; decide_calls says what became:"]
    for step in steps:
        texts = step_texts.texts_of(step, step_texts.detail_of(step))
        arguments = one_line(texts.get("arguments", ""), ARGUMENT_CHARS)
        lines.append(f"  step_id {ids.public(ids.Kind.STEP, step.key)}: {step.name}({arguments})")
    return "\n".join(lines)


def waiting(calls: Sequence[tuple[ToolCall, bool]]) -> str:
    """Write the calls that a turn waits for, each with whether it needs approval only."""
    lines = ["The turn waits for these calls; answer all of them at once with answer_calls:"]
    for call, needs_approval in calls:
        arguments = call.arguments_json or step_texts.pretty(str(call.arguments))
        how = "say approve true or false" if needs_approval else "make the call yourself and give its content"
        lines.append(f"  call_id {call.call_id}: {call.tool_name}({cut(arguments, ARGUMENT_CHARS)}) — {how}")
    return "\n".join(lines)
