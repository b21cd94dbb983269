"""Stores tags of turns, sessions and steps, the pairs of their metadata and the names of their prompts, as interned
strings: each is found by one index lookup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from agents.base.models.changes import ChangeKind
from agents.base.models.terms import Term, TermKind
from agents.base.store import changes, terms
from agents.base.store.sql import Among, Insert, Select
from agents.record.models.tags import SessionTag, StepTag, TurnTag

MAX_PAIRS = 200
"""Most pairs of one record's metadata that can be searched; all are stored and shown."""
MAX_PATHS = 10_000
"""Most paths read of a record's metadata: nested lists have very many."""

_ON_TURN = Insert(TurnTag, "term_id turn_id", once=True)
_ON_SESSION = Insert(SessionTag, "term_id session_id", once=True)
_ON_STEP = Insert(StepTag, "term_id step_id", once=True)
_PAIRS = Select(
    TurnTag, "term_id", "turn_id = %s AND EXISTS (SELECT 1 FROM agents_term WHERE id = term_id AND kind = %s)"
)


def index_turn(turn: int, metadata: Mapping[str, Any]) -> None:
    """Index the metadata of a new turn. Within the caller's transaction, as all here."""
    index_turns([(turn, metadata)])


def index_turns(turns: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
    """Index the metadata of several new turns."""
    _ON_TURN.execute_many((number, turn) for turn, metadata in turns for number in _interned(metadata))


def index_prompt(turn: int, prompt: str, version: str) -> None:
    """Index the prompt that a response of a turn was begun with, by its id and by its version."""
    names = (prompt, f"{prompt}@{version}")
    numbers = [number for number in (terms.intern(TermKind.PROMPT, name) for name in names) if number is not None]
    _ON_TURN.execute_many((number, turn) for number in numbers)


def reindex_turn(turn: int, metadata: Mapping[str, Any]) -> None:
    """Replace the indexed metadata of a turn."""
    before = {number for (number,) in _PAIRS.all(turn, int(TermKind.META))}
    now = _interned(metadata)
    TurnTag.objects.filter(turn_id=turn, term_id__in=before.difference(now)).delete()
    _ON_TURN.execute_many((number, turn) for number in now if number not in before)


def index_session(session: int, metadata: Mapping[str, Any]) -> None:
    """Replace the indexed metadata of a session."""
    rows = SessionTag.objects.filter(session_id=session)
    pairs = Term.objects.filter(pk__in=rows.values("term_id"), kind=int(TermKind.META))
    rows.filter(term_id__in=list(pairs.values_list("pk", flat=True))).delete()
    _ON_SESSION.execute_many((number, session) for number in _interned(metadata))


def add(
    names: Iterable[str], *, turns: Iterable[int] = (), sessions: Iterable[int] = (), steps: Iterable[int] = ()
) -> None:
    """Tag records."""
    numbers = [number for number in (terms.intern(TermKind.TAG, name) for name in names) if number is not None]
    of_turns, of_sessions, of_steps = list(turns), list(sessions), list(steps)
    for statement, keys in ((_ON_TURN, of_turns), (_ON_SESSION, of_sessions), (_ON_STEP, of_steps)):
        statement.execute_many((number, key) for key in keys for number in numbers)
    _note_changes(of_turns, of_sessions, of_steps)


def remove(
    names: Iterable[str], *, turns: Iterable[int] = (), sessions: Iterable[int] = (), steps: Iterable[int] = ()
) -> None:
    """Remove tags of records."""
    numbers = [number for number in (terms.find(TermKind.TAG, name) for name in names) if number is not None]
    of_turns, of_sessions, of_steps = list(turns), list(sessions), list(steps)
    TurnTag.objects.filter(term_id__in=numbers, turn_id__in=of_turns).delete()
    SessionTag.objects.filter(term_id__in=numbers, session_id__in=of_sessions).delete()
    StepTag.objects.filter(term_id__in=numbers, step_id__in=of_steps).delete()
    _note_changes(of_turns, of_sessions, of_steps)


def _note_changes(turns: Iterable[int], sessions: Iterable[int], steps: Iterable[int]) -> None:
    of = {ChangeKind.TURN: turns, ChangeKind.SESSION: sessions, ChangeKind.STEP: steps}
    for kind, keys in of.items():
        for key in keys:
            changes.note(kind, key)


def _interned(metadata: Mapping[str, Any]) -> list[int]:
    pairs = islice(_pairs("", metadata), MAX_PATHS)
    texts = dict.fromkeys(f"{path}={value}" for path, value in pairs)
    numbers = (terms.intern(TermKind.META, pair) for pair in list(texts)[:MAX_PAIRS])
    return list(dict.fromkeys(number for number in numbers if number is not None))


def _pairs(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of the scalar values in metadata, by the paths that queries use: a value in a list is
    found by its index, by ``[*]``, and, where it is a scalar, by the list itself."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _pairs(f"{path}.{name}" if path else str(name), inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _pairs(f"{path}.[{index}]", inner)
            yield from _pairs(f"{path}.[*]", inner)
            if not isinstance(inner, Mapping | list | tuple):
                yield from _pairs(path, inner)
    elif value is not None:
        yield path, plain(value)


def plain(value: Any) -> str:
    """Write a scalar of JSON as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@cache
def _tags(table: Any, column: str) -> Among:
    return Among(
        f"SELECT g.{column}, m.value FROM {table._meta.db_table} g JOIN agents_term m ON m.id = g.term_id "  # noqa: S608 - names of ours
        f"WHERE m.kind = {int(TermKind.TAG)} AND g.{column} IN ({{values}})"
    )


def tags_of(table: Any, column: str, keys: Sequence[int]) -> dict[int, list[str]]:
    """Return the tags of these rows, sorted, without the pairs of their metadata."""
    tags_by_key: dict[int, list[str]] = {}
    for key, name in _tags(table, column).all(keys):
        tags_by_key.setdefault(key, []).append(name)
    return {key: sorted(tags) for key, tags in tags_by_key.items()}
