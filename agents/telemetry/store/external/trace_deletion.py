"""Deletes the traces of deleted external turns: else the next projection of a trace would bring its turns back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from agents.base.store.sql import Select
from agents.record.models.choices import EXTERNAL
from agents.record.models.turns import Turn, TurnBody
from agents.telemetry.models.traces import SharedMark, SpanBatch, Trace, TraceLink
from agents.telemetry.store.external.owners import Owner, external_id


class _External(msgspec.Struct):
    traces: list[str] = []


class _Request(msgspec.Struct):
    foreign: _External = msgspec.field(default_factory=_External)


_request = msgspec.json.Decoder(_Request).decode
_TURNS_NAMED_AFTER = Select(Turn, "id", "owner_id = %s AND scope_id = %s AND foreign_id >= %s AND foreign_id < %s")
_TRACE = Select(Trace, "id", "owner_id = %s AND scope_id = %s AND foreign_id = %s")


def delete_traces_of_turns(turns: Sequence[int]) -> None:
    """Delete the traces of these turns, except those that other turns are made of, within the caller's transaction
    and before the turns themselves."""
    deleted = set(turns)
    traces = {
        key
        for owner, name in set(_traces_of(turns))
        if deleted.issuperset(_turns_named_after(owner, name))
        for (key,) in _TRACE.all(owner.user, owner.scope, name)
    }
    delete_traces(traces)
    SharedMark.objects.filter(trace_id__in=deleted)._raw_delete("default")  # of scores on turns of this server


def delete_traces(traces: Iterable[int]) -> None:
    """Delete these traces with their spans and links, within the caller's transaction."""
    keys = list(traces)
    TraceLink.objects.filter(trace_id__in=keys)._raw_delete("default")
    SharedMark.objects.filter(trace_id__in=keys)._raw_delete("default")
    SpanBatch.objects.filter(trace_id__in=keys)._raw_delete("default")
    Trace.objects.unscoped("delete").filter(pk__in=keys)._raw_delete("default")


def _traces_of(turns: Sequence[int]) -> Iterator[tuple[Owner, str]]:
    rows = Turn.objects.unscoped("delete").filter(pk__in=turns, source__in=EXTERNAL)
    owners = {key: Owner(user, scope) for key, user, scope in rows.values_list("pk", "owner_id", "scope_id")}
    bodies = TurnBody.objects.unscoped("delete").filter(pk__in=owners).exclude(request="")
    for key, request in bodies.values_list("pk", "request"):
        for name in _request(request).foreign.traces:
            yield owners[key], external_id(name)


def _turns_named_after(owner: Owner, trace: str) -> Iterator[int]:
    """The turns that are named after a trace: as it is, or as it is with a colon and the id of a span."""
    for (key,) in _TURNS_NAMED_AFTER.all(owner.user, owner.scope, trace, f"{trace};"):
        yield key
