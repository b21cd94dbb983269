"""Hooks by which other subjects delete their rows together with records.

A subject whose rows refer to sessions, turns or steps adds `DeletionHooks` when it is installed. `deletion` and
`removal` call all of them within the transaction that deletes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from django.db.models import Model

from agents.record.models.agents import Session
from agents.record.models.turns import Step, Turn

Drop = Callable[[Sequence[int]], None]
"""Deletes the rows that refer to the records of these keys."""


def _nothing(keys: Sequence[int]) -> None:
    """Delete nothing: the default hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionHooks:
    """The hooks of one subject. ``sessions``, ``turns`` and ``steps`` are called when these are deleted, children
    before their parents. ``merged`` is called with steps that are deleted while their turn stays: rows that refer to
    them refer to the turn from then on. ``sources`` is called before turns are deleted for good: it deletes the reports
    they were built from, so that they are not built again."""

    sessions: Drop = _nothing
    turns: Drop = _nothing
    steps: Drop = _nothing
    merged: Drop = _nothing
    sources: Drop = _nothing


def of_tables(models: Sequence[type[Model]]) -> DeletionHooks:
    """Return the hooks of a subject that is not installed: rows in its tables go with the records they refer to, as
    the database would refuse to delete those otherwise."""
    return DeletionHooks(
        sessions=partial(_delete_rows, models, Session),
        turns=partial(_delete_rows, models, Turn),
        steps=partial(_delete_rows, models, Step),
        merged=partial(_clear_steps, models),
    )


def _delete_rows(models: Sequence[type[Model]], record: type[Model], keys: Sequence[int]) -> None:
    for model, column in _columns(models, record):
        model._base_manager.filter(**{f"{column}__in": keys}).delete()


def _clear_steps(models: Sequence[type[Model]], keys: Sequence[int]) -> None:
    for model, column in _columns(models, Step):
        model._base_manager.filter(**{f"{column}__in": keys}).update(**{column: None})


def _columns(models: Sequence[type[Model]], record: type[Model]) -> Iterator[tuple[type[Model], str]]:
    """Yield the columns that refer to such a record."""
    for model in models:
        for field in model._meta.concrete_fields:
            if field.related_model is record:
                yield model, field.attname


_hooks: dict[str, DeletionHooks] = {}


def add(subject: str, hooks: DeletionHooks) -> None:
    """Register the hooks of a subject; adding it again replaces them."""
    _hooks[subject] = hooks


def drop_of_sessions(keys: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.sessions(keys)


def drop_of_turns(keys: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.turns(keys)


def drop_of_steps(keys: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.steps(keys)


def merge_steps(keys: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.merged(keys)


def drop_sources(turns: Sequence[int]) -> None:
    for hooks in _hooks.values():
        hooks.sources(turns)
