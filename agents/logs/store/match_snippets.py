"""Find where rows hold the words of a search that their previews do not show: the question, or the first step, that
has them.

The caller has checked that the rows may be seen.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agents.query.comparison import contains_phrase
from agents.query.tree import SearchPhrase
from agents.record.models.turns import Step, StepDetail, Turn, TurnBody
from agents.record.schemas import searchable_text
from agents.record.schemas.events import DETAILS, ErrorInfo
from agents.record.store import large_values, search
from agents.record.store.search import KeyRange

MAX_STEPS = 500
"""Steps that are read for one page of turns."""
MAX_KEYS = 2_000
"""Steps of a page of turns that are looked at one by one; where there are more, the index is searched."""
MAX_TURNS = 500
"""Turns that are read for one page of sessions."""
MAX_TEXT = 100_000
"""Characters of a text that are searched."""

Side = Literal["text", "in", "out"]
"""Where the words are searched: anywhere, in the input of a turn, in its output."""
_TURN_PARTS: dict[Side, tuple[str, ...]] = {"text": (), "in": ("input",), "out": ("output",)}


@dataclass(frozen=True, slots=True)
class MatchSnippet:
    """A text that holds the words: of a step, with its type and name, or of a turn's ``input``. ``turn`` is the turn
    that has it."""

    type: str
    name: str
    text: str
    turn: int


def of_turns(turns: Collection[int], phrase: SearchPhrase, side: Side = "text") -> dict[int, MatchSnippet]:
    """Return the first text of each turn that holds the phrase, by turn."""
    if not turns:
        return {}
    by_turn = _inputs(turns, phrase) if side != "out" else {}
    return (
        by_turn
        if side == "in"
        else {**_first_steps([turn for turn in turns if turn not in by_turn], phrase), **by_turn}
    )


def of_sessions(sessions: Collection[int], phrase: SearchPhrase, side: Side = "text") -> dict[int, MatchSnippet]:
    """Return a text of the newest turn of each session that holds the phrase, by session."""
    if not sessions:
        return {}
    turns = Turn.objects.unscoped("of rows that are shown").filter(
        session_id__in=sessions, pk__in=search.containing("turn", phrase, _TURN_PARTS[side], (min(sessions), None))
    )
    newest: dict[int, int] = {}
    for turn, session in turns.order_by("-pk").values_list("pk", "session_id")[:MAX_TURNS]:
        newest.setdefault(session, turn)
    by_turn = of_turns(list(newest.values()), phrase, side)
    return {session: by_turn[turn] for session, turn in newest.items() if turn in by_turn}


def of_steps(steps: Sequence[int], phrase: SearchPhrase) -> dict[int, MatchSnippet]:
    """Return the text of each of these steps that holds the words."""
    return _step_texts(list(Step.objects.unscoped("of rows that are shown").filter(pk__in=steps)), phrase)


def _inputs(turns: Collection[int], phrase: SearchPhrase) -> dict[int, MatchSnippet]:
    having = search.containing("turn", phrase, ("input",), KeyRange(among=tuple(turns)))
    bodies = TurnBody.objects.unscoped("of rows that are shown").filter(turn_id__in=having)
    texts = {key: searchable_text.of_input(body) for key, body in bodies.values_list("pk", "input_messages")}
    return {
        key: MatchSnippet("input", "", text[:MAX_TEXT], key)
        for key, text in texts.items()
        if contains_phrase(text[:MAX_TEXT], phrase)
    }


def _first_steps(turns: Sequence[int], phrase: SearchPhrase) -> dict[int, MatchSnippet]:
    if not turns:
        return {}
    own = Step.objects.unscoped("of rows that are shown").filter(turn_id__in=list(turns))
    # the turns of a page in another order than that of time lie far apart: all steps between them would be searched
    keys = tuple(own.values_list("pk", flat=True)[: MAX_KEYS + 1])
    within = KeyRange(among=keys) if len(keys) <= MAX_KEYS else (min(turns), None)
    steps = own.filter(pk__in=search.containing("step", phrase, (), within))
    first: dict[int, Step] = {}
    for step in steps.order_by("turn_id", "number")[:MAX_STEPS]:
        first.setdefault(step.turn_id, step)
    return {snippet.turn: snippet for snippet in _step_texts(list(first.values()), phrase).values()}


def _step_texts(steps: Sequence[Step], phrase: SearchPhrase) -> dict[int, MatchSnippet]:
    by_key = {step.pk: step for step in steps}
    rows = StepDetail.objects.filter(step_id__in=list(by_key)).values_list("pk", "encoding", "body", "error")
    by_step = {}
    for key, kind, body, error in rows:
        step = by_key[key]
        detail = DETAILS[step.get_type_display()].model_validate_json(large_values.outline(kind, body).body)
        parts = searchable_text.of_step(detail, ErrorInfo.model_validate_json(error) if error else None)
        snippet = MatchSnippet(step.get_type_display(), step.name, "", step.turn_id)
        text = next((part[:MAX_TEXT] for part in parts if contains_phrase(part[:MAX_TEXT], phrase)), None)
        if text is not None:
            by_step[key] = replace(snippet, text=text)
    return by_step
