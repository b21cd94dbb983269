"""What foreign turns were made of goes with them: what a user deletes is nowhere, and does not come back with
the next look at its traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agents.base.store.sql import Select
from agents.record.models.choices import FOREIGN
from agents.record.models.turns import Turn, TurnBody
from agents.telemetry.models.traces import SpanBatch, Trace, TraceLink
from agents.telemetry.store.external.owners import Owner, foreign_id


class _Foreign(msgspec.Struct):
    traces: list[str] = []


class _Request(msgspec.Struct):
    foreign: _Foreign = msgspec.field(default_factory=_Foreign)


_request = msgspec.json.Decoder(_Request).decode
_CALLED = Select(Turn, "id", "owner_id = %s AND scope_id = %s AND foreign_id >= %s AND foreign_id < %s")
_TRACE = Select(Trace, "id", "owner_id = %s AND scope_id = %s AND foreign_id = %s")


def forget(turns: Sequence[int]) -> None:
    """Delete the traces of these turns, but those that other turns are made of, within the caller's transaction
    and before the turns themselves."""
    gone = set(turns)
    found = {
        key
        for owner, name in set(_traces(turns))
        if gone.issuperset(_called(owner, name))
        for (key,) in _TRACE.all(owner.user, owner.scope, name)
    }
    drop(found)


def drop(traces: Iterable[int]) -> None:
    """Delete these traces with all that came of them, within the caller's transaction."""
    keys = list(traces)
    TraceLink.objects.filter(trace_id__in=keys)._raw_delete("default")
    SpanBatch.objects.filter(trace_id__in=keys)._raw_delete("default")
    Trace.objects.unscoped("delete").filter(pk__in=keys)._raw_delete("default")


def _traces(turns: Sequence[int]) -> Iterator[tuple[Owner, str]]:
    rows = Turn.objects.unscoped("delete").filter(pk__in=turns, source__in=FOREIGN)
    owners = {key: Owner(user, scope) for key, user, scope in rows.values_list("pk", "owner_id", "scope_id")}
    bodies = TurnBody.objects.unscoped("delete").filter(pk__in=owners).exclude(request="")
    for key, request in bodies.values_list("pk", "request"):
        for name in _request(request).foreign.traces:
            yield owners[key], foreign_id(name)


def _called(owner: Owner, trace: str) -> Iterator[int]:
    """The turns that are named after a trace: as it is, or as it is with a colon and the id of a span."""
    for (key,) in _CALLED.all(owner.user, owner.scope, trace, f"{trace};"):
        yield key
