"""The search index: one document per turn and one per step, in the transaction that writes them.

A document has parts, so that a query can name where a word occurs: of a turn its input, output,
errors, metadata, and once it has ended the texts of its steps; of a step its output, arguments,
results and errors. On SQLite two FTS5 tables, on PostgreSQL two tables with
a stored ``tsvector`` per part; both are made by migrations 0002 and 0008.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, repeat
from typing import Literal, NamedTuple

from django.db import connection
from django.db.models.expressions import RawSQL

from agents.base.store.cursors import database, direct_cursor
from agents.base.store.sql import Among, execute_later, insert_many
from agents.base.tokenizer import index_text
from agents.query.tree import SearchPhrase
from agents.record.schemas.search_documents import (
    OVERFLOW,
    StepText,
    StepTokens,
    TurnTokens,
    index_tokens,
    step_tokens,
    steps_document,
    turn_tokens,
)

Table = Literal["turn", "step"]
TURN = ("input", "output", "problem", "metadata", "steps")
STEP = ("said", "args", "result", "problem")
_PARTS = {"turn": TURN, "step": STEP}


def index_turn(turn: int, input_text: str, metadata: str = "") -> None:
    """Index the input of a new turn."""
    put_turns([(turn, turn_tokens(input_text, metadata))])


def index_answer(turn: int, output_text: str, problem: str = "") -> None:
    """Index (again) the output of a turn, and the texts of its steps."""
    output = index_tokens(output_text)
    steps = steps_document(_steps_of(turn), output)
    parts = [output, index_tokens(problem), steps]
    vendor = database().vendor
    vectors = map(vector, parts) if vendor == "postgresql" else ()
    execute_later(_SET_ANSWER[vendor], *parts, *vectors, turn)


_SET_ANSWER = {
    "sqlite": "UPDATE agents_turn_search SET output = %s, problem = %s, steps = %s WHERE rowid = %s",
    "postgresql": (
        "UPDATE agents_turn_search SET output = %s, problem = %s, steps = %s, output_words = %s::tsvector, "
        "problem_words = %s::tsvector, steps_words = %s::tsvector WHERE id = %s"
    ),
}


def _steps_of(turn: int) -> list[StepTokens]:
    sql = (
        "SELECT said, args, result, problem FROM agents_step_search AS found "  # noqa: S608 - constants
        f"JOIN agents_step AS step ON step.id = found.{key_column()} WHERE step.turn_id = %s ORDER BY step.number"
    )
    with direct_cursor() as cursor:
        cursor.execute(sql, [turn])
        return list(cursor.fetchall())


def index_step(step: int, text: StepText) -> None:
    """Index (again) the texts of a step."""
    put_steps([(step, step_tokens(text))])


def put_steps(documents: Iterable[tuple[int, StepTokens]]) -> None:
    """Insert or replace documents of steps, by their keys."""
    _put("step", documents)


def put_turns(documents: Iterable[tuple[int, TurnTokens]]) -> None:
    """Insert or replace documents of turns, by their keys."""
    _put("turn", documents)


def _put(table: Table, documents: Iterable[tuple[int, Sequence[str]]]) -> None:
    names = _PARTS[table]
    if database().vendor == "sqlite":
        marks = ", ".join(["%s"] * (1 + len(names)))
        head = f"INSERT OR REPLACE INTO agents_{table}_search(rowid, {', '.join(names)})"
        insert_many(head, f"({marks})", "", ((key, *parts) for key, parts in documents))
        return
    columns = [*names, *(f"{part}_words" for part in names)]
    marks = ", ".join([*["%s"] * (1 + len(names)), *["%s::tsvector"] * len(names)])
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns)
    head = f"INSERT INTO agents_{table}_search(id, {', '.join(columns)})"
    tail = f" ON CONFLICT (id) DO UPDATE SET {changes}"
    insert_many(head, f"({marks})", tail, ((key, *parts, *map(vector, parts)) for key, parts in documents))


_LAST = 16_383
"""The highest position in a tsvector of PostgreSQL."""
_MAX_LEXEME = 500
"""Characters of a lexeme, which is limited to 2 KB there."""


@cache
def _ends() -> tuple[str, ...]:
    """Return what ends the word at each position, and begins the next one: a megabyte that SQLite does not need."""
    return tuple(f"':{position} '" for position in range(1, _LAST + 1))


def vector(tokens: str) -> str:
    """Write tokens with their positions as a tsvector of PostgreSQL: its own parser would split them again."""
    words = tokens.split()
    if not words:
        return ""
    if len(tokens) > _MAX_LEXEME and max(map(len, words)) > _MAX_LEXEME:
        words = [word[:_MAX_LEXEME] for word in words]
    # no code of ours runs for each word: a long turn has thousands
    ends = _ends()
    pairs = zip(words, chain(ends, repeat(ends[-1])), strict=False)
    return "'" + "".join(chain.from_iterable(pairs))[:-2]


def remove(turns: list[int], steps: list[int]) -> None:
    """Delete documents from the index."""
    for statement, keys in zip(_REMOVE[connection.vendor], (turns, steps), strict=True):
        statement.execute(keys)


_REMOVE = {
    "sqlite": (
        Among("DELETE FROM agents_turn_search WHERE rowid IN ({values})"),
        Among("DELETE FROM agents_step_search WHERE rowid IN ({values})"),
    ),
    "postgresql": (
        Among("DELETE FROM agents_turn_search WHERE id IN ({values})"),
        Among("DELETE FROM agents_step_search WHERE id IN ({values})"),
    ),
}


def key_column() -> str:
    """Return the name of the column with the key of a full-text table."""
    return "rowid" if database().vendor == "sqlite" else "id"


# ----------------------------------------------------------------------------------------- searching


class KeyRange(NamedTuple):
    """The keys to search: from ``since`` on, before ``until``; or the few of ``among``, where these are known."""

    since: int = 0
    until: int | None = None
    among: tuple[int, ...] | None = None


ALL = KeyRange()


def containing(
    table: Table,
    phrase: SearchPhrase,
    parts: Sequence[str] = (),
    keys: tuple[int, int | None] | KeyRange = ALL,
) -> RawSQL:
    """Build a subquery of the turns, or steps, with a part that contains a phrase; its last word may be
    a prefix (``prefix``). With ``inside`` its characters may occur anywhere, which reads every document.
    ``parts`` are the searched parts, by default all."""
    text, searched_parts = index_text(phrase.text), parts or _PARTS[table]
    key_condition = _range(*keys)
    if phrase.inside:
        return _substring(table, text, searched_parts, key_condition)
    if _is_scanned(keys):
        return _scan(table, [(text, phrase.prefix)], searched_parts, key_condition)
    if connection.vendor == "sqlite":
        sql = f"SELECT rowid FROM agents_{table}_search WHERE agents_{table}_search MATCH %s{key_condition}"  # noqa: S608 - constants
        return RawSQL(sql, [_fts(text, phrase.prefix, searched_parts)])  # noqa: S611 - bound
    condition = " OR ".join(f"{part}_words @@ %s::tsquery" for part in searched_parts)
    sql = f"SELECT id FROM agents_{table}_search WHERE ({condition}){key_condition}"  # noqa: S608 - constants
    return RawSQL(sql, [_tsquery(text, phrase.prefix)] * len(searched_parts))  # noqa: S611 - bound


def holding(table: Table, texts: Sequence[str], part: str, keys: KeyRange = ALL) -> RawSQL:
    """Build a subquery of the turns, or steps, with a part that contains all of these texts."""
    phrases = [index_text(text) for text in texts]
    if _is_scanned(keys):
        return _scan(table, [(text, False) for text in phrases], [part], _range(*keys))
    if connection.vendor == "sqlite":
        condition, value = (
            f"agents_{table}_search MATCH %s",
            " AND ".join(f"({_fts(text, False, [part])})" for text in phrases),
        )
    else:
        condition, value = f"{part}_words @@ %s::tsquery", " & ".join(f"({_tsquery(text, False)})" for text in phrases)
    sql = f"SELECT {key_column()} FROM agents_{table}_search WHERE {condition}{_range(*keys)}"  # noqa: S608 - constants
    return RawSQL(sql, [value])  # noqa: S611 - bound


def newest(subquery: RawSQL, limit: int) -> list[int]:
    """Return the newest keys that a subquery finds."""
    with direct_cursor() as cursor:
        cursor.execute(f"{subquery.sql} ORDER BY {key_column()} DESC LIMIT {int(limit)}", subquery.params)
        return [row[0] for row in cursor.fetchall()]


def _range(since: int, until: int | None, among: Sequence[int] | None = None) -> str:
    if among is not None:
        listed = ", ".join(str(int(key)) for key in among) or "NULL"  # PostgreSQL takes no empty list
        return f" AND {key_column()} IN ({listed})"
    first = f" AND {key_column()} >= {int(since)}" if since else ""
    return first if until is None else f"{first} AND {key_column()} < {int(until)}"


def _is_scanned(keys: tuple[int, int | None] | KeyRange) -> bool:
    """Tell whether documents are scanned rather than looked up: FTS5 repeats the search for each key of a list."""
    return connection.vendor == "sqlite" and len(keys) > 2 and keys[2] is not None


def _scan(table: Table, phrases: Sequence[tuple[str, bool]], parts: Sequence[str], key_condition: str) -> RawSQL:
    """Build a subquery that scans documents for a part with all these phrases, (text, is a prefix)."""
    needles = [f" {text}{'' if prefix else ' '}" for text, prefix in phrases]
    conditions = [" AND ".join([f"instr(' ' || {part} || ' ', %s) > 0"] * len(needles)) for part in parts]
    either = " OR ".join(f"({condition})" for condition in conditions)
    sql = f"SELECT rowid FROM agents_{table}_search WHERE ({either}){key_condition}"  # noqa: S608 - constants
    return RawSQL(sql, needles * len(parts))  # noqa: S611 - bound


def _substring(table: Table, text: str, parts: Sequence[str], key_condition: str) -> RawSQL:
    function = "instr({0}, %s)" if connection.vendor == "sqlite" else "strpos({0}, %s)"
    condition = " OR ".join(f"{function.format(part)} > 0" for part in parts)
    sql = f"SELECT {key_column()} FROM agents_{table}_search WHERE ({condition}){key_condition}"  # noqa: S608 - constants
    return RawSQL(sql, [text] * len(parts))  # noqa: S611 - bound


def equal(table: Table, text: str, parts: Sequence[str]) -> RawSQL:
    """Build a subquery of the turns, or steps, with a part that is exactly these words."""
    tokens = index_text(text)
    same = " OR ".join(f"{part} = %s" for part in parts)
    if connection.vendor == "sqlite":
        condition = f"agents_{table}_search MATCH %s"
        values = [_fts(tokens, False, parts)]
    else:
        condition = " OR ".join(f"{part}_words @@ %s::tsquery" for part in parts)
        values = [_tsquery(tokens, False)] * len(parts)
    sql = f"SELECT {key_column()} FROM agents_{table}_search WHERE ({condition}) AND ({same})"  # noqa: S608 - constants
    return RawSQL(sql, [*values, *[tokens] * len(parts)])  # noqa: S611 - bound


def filled(table: Table, parts: Sequence[str] = ()) -> RawSQL:
    """Build a subquery of the turns, or steps, with any word in one of these parts, by default of all."""
    condition = " OR ".join(f"{part} <> ''" for part in parts or _PARTS[table])
    return RawSQL(f"SELECT {key_column()} FROM agents_{table}_search WHERE {condition}", [])  # noqa: S608, S611 - constants


def overflowing() -> list[int]:
    """Return the turns whose steps do not all fit into their document."""
    if connection.vendor == "sqlite":
        sql, value = "SELECT rowid FROM agents_turn_search WHERE agents_turn_search MATCH %s", f'steps : "{OVERFLOW}"'
    else:
        sql, value = "SELECT id FROM agents_turn_search WHERE steps_words @@ %s::tsquery", f"'{OVERFLOW}'"
    with direct_cursor() as cursor:
        cursor.execute(sql, [value])
        return [row[0] for row in cursor.fetchall()]


def _fts(tokens: str, prefix: bool, parts: Sequence[str]) -> str:
    """Write a phrase in FTS5's syntax; tokens contain no quotes."""
    return f'{{{" ".join(parts)}}} : "{tokens}"{" *" if prefix else ""}'


def _tsquery(tokens: str, prefix: bool) -> str:
    parts = [f"'{word[:500]}'" for word in tokens.split()]
    return " <-> ".join(parts) + (":*" if prefix else "")
