"""A short guide to the query language: its rules, and the fields that this server has."""

from __future__ import annotations

from collections.abc import Iterator

from agents.query.fields import FIELDS, QueryField
from agents.query.tree import Level

RULES = """\
A query selects turns, steps or sessions. Terms side by side must all hold.
  refund order                       both words, anywhere; "refund policy" a phrase; refund* words that begin so
  status:failed agent:support        fields; OR, NOT in capitals, - in front means NOT, parentheses group
  status:(failed OR cancelled)       several values of a field; * inside a value stands for anything
  duration:>2s tokens:1k..5k cost:>$0.05 started:-24h started:2026-11-20T10:00..11:00
  error:timeout  error:*             texts contain these words; := is exactly; * is any (has:error)
  args.path:/etc/* result.total:>100 inside the JSON that tools take and return; meta.<path> in metadata
A field of a step, asked of turns, means: some step of the turn. For one and the same step: step(tool:x status:failed).
Also all(step)(…), no(step)(…), first(step)(…), last(turn)(…), count(step: tool:x)>3.
The turns of one session: session:<id>. The steps of one turn: turn:<id>, with level step."""


def paragraphs(level: Level | None) -> Iterator[str]:
    """Yield the rules, then a line for each field, those of the rows of ``level`` where one is given."""
    yield RULES
    yield f"Fields of {level}s:" if level else "Fields:"
    yield from (_line(field) for field in FIELDS.values() if level is None or level in field.levels)


def _line(field: QueryField) -> str:
    choices = f" ({', '.join(field.choices)})" if field.choices else ""
    return f"  {field.sample} — {field.help}{choices} [{', '.join(field.levels)}]"
