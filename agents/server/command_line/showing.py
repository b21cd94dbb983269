"""One record of the log as text for a terminal: a session, a turn, the turn of a response, a step with its turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.logs.runner.export_requests import whole_turn
from agents.logs.schemas.row_ids import public
from agents.logs.schemas.rows import RowFeedback, SessionRow, StepRow, TokenCounts, TurnRow
from agents.logs.store import rows
from agents.logs.wire.export import encoder
from agents.record.schemas import step_texts
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.feedback import ReportedFeedback
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import read_turns, step_pages, targets
from agents.record.store.feedback_hooks import hooks
from agents.record.store.targets import RecordTarget, TargetKind
from agents.server.command_line.printing import printable
from agents.uikit import format

MAX_LINES, MAX_CHARS = 12, 1_000
"""Of one text, where not all of it is wanted."""
STEPS_AT_ONCE = 100
_INDENT = "  "
_LABEL_WIDTH = 10
_KINDS: tuple[tuple[TargetKind, Callable[[str], int | None]], ...] = (
    ("turn", lambda text: ids.parse_spelled(ids.Kind.TURN, text)),
    ("session", lambda text: ids.parse_spelled(ids.Kind.SESSION, text)),
    ("response", lambda text: ids.parse_openai(ids.Kind.RESPONSE, text)),
    ("step", lambda text: ids.parse(ids.Kind.STEP, text)),
    ("turn", lambda text: ids.parse_openai(ids.Kind.COMPLETION, text)),
)
"""The spellings of ids; the chat completion that an agent answered has the key of its turn."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the output, not yet safe to print. ``style`` is a role of Django's palette, or empty."""

    text: str
    style: str = ""


def find(actor: Actor, text: str) -> RecordTarget:
    """Find what an id names, in any spelling. Raises NotFound."""
    for kind, parse in _KINDS:
        key = parse(text)
        if key is not None:
            return targets.find(actor, kind, public(kind, key))
    raise NotFound(f"'{printable(text[:80])}' is the id of no turn, session, response or step of this log.")


def json_lines(actor: Actor, target: RecordTarget) -> Iterator[bytes]:
    """Yield the turns of a record as a whole export writes them, oldest first."""
    lines = encoder("jsonl", "turn")
    for row in rows.of("turn", _turns(actor, target)):
        yield whole_turn(lines, actor, row)


def _turns(actor: Actor, target: RecordTarget) -> list[int]:
    if target.turn is not None:
        return [target.turn]
    return [key for key, _ in read_turns.sizes_of_session(actor, target.session)]


@dataclass(frozen=True, slots=True)
class RecordText:
    """Writes records as lines; with ``full`` no text is cut."""

    actor: Actor
    full: bool

    def lines(self, target: RecordTarget) -> Iterator[Line]:
        """Yield the lines of a session with its turns, or of a turn with its steps, or with one of them."""
        if target.turn is None:
            for session in rows.of("session", [target.session]):
                yield from _head(f"Session {ids.public(ids.Kind.SESSION, session.id)}", _session_facts(session))
        for number, turn in enumerate(_turns(self.actor, target)):
            if number or target.turn is None:
                yield Line("")
            yield from self._turn(turn, target.step)

    def _turn(self, key: int, only_step: int | None) -> Iterator[Line]:
        turn = read_turns.head(self.actor, key)
        for row in rows.of("turn", [key]):
            yield from _head(f"Turn {ids.public(ids.Kind.TURN, key)}", _turn_facts(row))
        yield from self._part("Question", step_texts.input_text(turn.input_messages))
        yield from self._steps(key, only_step)
        yield from self._error(turn.error, "")
        yield from self._part("Answer", step_texts.output_text(turn.output_message))
        yield from self._feedback(turn)

    def _part(self, title: str, text: str) -> Iterator[Line]:
        if text:
            yield from (Line(""), Line(title, "MIGRATE_HEADING"))
            yield from self._text(text, _INDENT)

    def _steps(self, turn: int, only_step: int | None) -> Iterator[Line]:
        total = step_pages.landmarks(turn, failed=False, waits=False).total
        for number in range(0, total, STEPS_AT_ONCE):
            steps = step_pages.steps(turn, number, STEPS_AT_ONCE)
            depths, step_rows = step_pages.depths(steps), rows.of("step", [step.key for step in steps])
            for step, row in zip(steps, step_rows, strict=True):
                if only_step in (None, step.key):
                    yield from self._step(step, row, _INDENT * depths[step.key])

    def _step(self, step: StepSnapshot, row: StepRow, indent: str) -> Iterator[Line]:
        outcome = "" if row.status == "completed" else row.status
        tokens = _tokens(row.usage)
        spent = [_duration(row.duration_ms), tokens and f"{tokens} tokens", _cost(row.cost_usd)]
        title = [f"{row.number + 1}. {row.kind or row.type}: {row.name or row.model}", outcome, *spent]
        yield from (Line(""), Line(indent + " · ".join(filter(None, title)), "MIGRATE_LABEL"))
        if self.full and step.cuts:
            step = replace(step, detail=b"".join(step_pages.detail(step.key)), cuts=())
        for name, text in step_texts.texts_of(step, step_texts.detail_of(step)).items():
            if name != "error":
                yield Line(f"{indent}{_INDENT}{name}")
                yield from self._text(text, indent + 2 * _INDENT)
        yield from self._error(step.error, indent + _INDENT)

    def _error(self, error: ErrorInfo | None, indent: str) -> Iterator[Line]:
        if error is not None:
            yield from self._text(f"error: {error.type}: {error.message}", indent, "ERROR")

    def _feedback(self, turn: TurnSnapshot) -> Iterator[Line]:
        entries = hooks.of_turn(turn.key)
        if entries:
            yield from (Line(""), Line("Feedback", "MIGRATE_HEADING"))
        for entry in entries:
            yield from self._text(_feedback_text(entry), _INDENT)

    def _text(self, text: str, indent: str, style: str = "") -> Iterator[Line]:
        """Yield the lines of a text, or those it begins with."""
        visible = text if self.full else "\n".join(text[:MAX_CHARS].split("\n")[:MAX_LINES])
        yield from (Line(indent + line, style) for line in visible.split("\n"))
        if len(visible) < len(text):
            yield Line(f"{indent}… (all of it: --full)", "NOTICE")


def _head(title: str, facts: Mapping[str, str]) -> Iterator[Line]:
    yield Line(title, "MIGRATE_HEADING")
    yield from (Line(f"{_INDENT}{name:<{_LABEL_WIDTH}}{value}") for name, value in facts.items() if value)


def _session_facts(row: SessionRow) -> dict[str, str]:
    return {
        "name": row.name,
        "agent": row.agent_name,
        "status": row.status or "",
        "started": format.iso(row.started_at),
        "changed": format.iso(row.updated_at),
        "turns": f"{row.turn_count:,}",
        **_common_facts(row),
    }


def _turn_facts(row: TurnRow) -> dict[str, str]:
    return {
        "agent": row.agent_name,
        "model": row.model,
        "session": f"{ids.public(ids.Kind.SESSION, row.session_id)} {row.session_name}",
        "status": " ".join(filter(None, [row.status, f"({row.stop_reason})" if row.stop_reason else ""])),
        "started": format.iso(row.started_at),
        "duration": _duration(row.duration_ms),
        "user": row.user or "",
        **_common_facts(row),
    }


def _common_facts(row: TurnRow | SessionRow) -> dict[str, str]:
    facts = {"tokens": _tokens(row.usage), "cost": _cost(row.cost_usd), "tags": ", ".join(row.tags)}
    return facts | ({"rated": _ratings(row.feedback)} if isinstance(row, SessionRow) else {})


def _duration(ms: float | None) -> str:
    return "" if ms is None else format.duration(ms)


def _tokens(usage: TokenCounts) -> str:
    if not usage.total_tokens:
        return ""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out"


def _cost(usd: float | None) -> str:
    return "" if usd is None else format.cost(usd)


def _ratings(feedback: RowFeedback) -> str:
    ratings = {"up": feedback.up, "down": feedback.down, "comments": feedback.comments, **feedback.scores}
    return ", ".join(f"{name} {value:,}" for name, value in ratings.items() if value)


def _feedback_text(entry: ReportedFeedback) -> str:
    score: Iterable[Any] = [f"{entry.name} {entry.value:g}"] if entry.value is not None else [entry.name]
    return " · ".join(filter(None, [entry.rating or "", *score, entry.comment, entry.author and f"by {entry.author}"]))
