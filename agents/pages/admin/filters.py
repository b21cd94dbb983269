"""Filters of the admin's lists: by time, by words of the vocabulary, by an interned name, by what a
record belongs to. Their values in the URL are words and public ids, never numbers of ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import IntegerChoices
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents.base import ids
from agents.base.ids import Kind
from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.record.models.choices import Api, Source, StepStatus, StepType, TurnStatus
from agents.record.store import agents
from agents.uikit import format
from agents.uikit.admin.current_actor import actor_of
from agents.uikit.admin.row_limits import newest_rows

LONGEST = 50
"""Choices beside a list."""
_MINUTE_US = 60_000_000


class Since(SimpleListFilter):
    """A range of time is a range of keys."""

    title = _("time")
    parameter_name = "since"
    spans = {"1h": (_("last hour"), 60), "24h": (_("last 24 hours"), 1440), "7d": (_("last 7 days"), 10_080)}
    spans["30d"] = (_("last 30 days"), 43_200)

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [(value, words) for value, (words, _minutes) in self.spans.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        chosen = self.spans.get(self.value() or "")
        if chosen is None:
            return queryset
        return queryset.filter(pk__gte=ids.first_key(ids.now_us() - chosen[1] * _MINUTE_US))


class _Narrowing(SimpleListFilter):
    """A condition that may have no index: then it looks at the newest rows only, unless a time was
    chosen."""

    indexed = False

    def condition(self, value: str) -> dict[str, Any] | None:
        """What rows must fulfil; None when none can."""
        raise NotImplementedError  # abstract: each filter says its own; the admin's metaclass leaves no room for ABC

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value()
        if value is None:
            return queryset
        condition = self.condition(value)
        if condition is None:
            return queryset.none()
        bounded = self.indexed or Since.parameter_name in request.GET
        return (queryset if bounded else newest_rows(queryset)).filter(**condition)


class WordFilter(_Narrowing):
    """One of the vocabulary's words."""

    values: type[IntegerChoices]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [(one.label, format.readable_name(one.label)) for one in self.values]

    def condition(self, value: str) -> dict[str, Any] | None:
        number = {one.label: one.value for one in self.values}.get(value)
        return None if number is None else {self.parameter_name or "": number}


class TurnStatusFilter(WordFilter):
    title, parameter_name, values, indexed = _("status"), "status", TurnStatus, True


class LegStatusFilter(WordFilter):
    title, parameter_name, values = _("status"), "status", TurnStatus


class StepStatusFilter(WordFilter):
    title, parameter_name, values = _("status"), "status", StepStatus


class StepTypeFilter(WordFilter):
    title, parameter_name, values = _("type"), "type", StepType


class ApiFilter(WordFilter):
    title, parameter_name, values = _("API"), "api", Api


class SourceFilter(WordFilter):
    title, parameter_name, values = _("source"), "source", Source


class _Name(_Narrowing):
    """An interned name."""

    kind: TermKind
    column: str

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        names = terms.all_of(self.kind)[:LONGEST]
        chosen = request.GET.get(self.parameter_name or "")
        return [(name, name) for name in [*names, *({chosen or ""} - {*names, ""})]]

    def condition(self, value: str) -> dict[str, Any] | None:
        number = terms.find(self.kind, value)
        return None if number is None else {self.column: number}


class TurnModelFilter(_Name):
    title, parameter_name, kind, column, indexed = _("model"), "model", TermKind.MODEL, "model_id", True


class StepModelFilter(_Name):
    title, parameter_name, kind, column = _("model"), "model", TermKind.MODEL, "model_id"


class ToolFilter(_Name):
    title, parameter_name, kind, column = _("tool"), "tool", TermKind.TOOL, "tool_id"


class _Of(_Narrowing):
    """What records belong to, by its public id: offered when a link chose it."""

    kind: Kind
    column: str
    indexed = True

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        chosen = request.GET.get(self.parameter_name or "")
        return [(chosen, chosen)] if chosen else []

    def condition(self, value: str) -> dict[str, Any] | None:
        key = ids.parse(self.kind, value)
        return None if key is None else {self.column: key}


class OfAgent(_Of):
    title, parameter_name, kind, column = _("agent"), "agent", Kind.AGENT, "agent_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return _with_chosen(agents.names(actor_of(request))[:LONGEST], super().lookups(request, model_admin))


def _with_chosen(names: list[tuple[str, str]], chosen: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """(public id, name) of these agents; the chosen one also where it is not among them."""
    yield from ((public_id, name) for name, public_id in names)
    yield from (one for one in chosen if one[0] not in {public_id for _name, public_id in names})


class OfSession(_Of):
    title, parameter_name, kind, column = _("session"), "session", Kind.SESSION, "session_id"


class OfVectorDB(_Of):
    title, parameter_name, kind, column = _("vector database"), "db", Kind.VECTOR_DB, "vector_db_id"


class OfTurn(_Of):
    title, parameter_name, kind, column = _("turn"), "turn", Kind.TURN, "turn_id"
