"""Filters of the admin's lists: by time, by choice, by interned name, by parent record. Their values in the
URL are names and public ids, never internal numbers."""

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

MAX_CHOICES = 50
"""Choices of one filter."""
_MINUTE_US = 60_000_000


class SinceFilter(SimpleListFilter):
    """Filter by time; keys are time-ordered, so a time is a range of keys."""

    title = _("time")
    parameter_name = "since"
    spans = {"1h": (_("last hour"), 60), "24h": (_("last 24 hours"), 1440), "7d": (_("last 7 days"), 10_080)}
    spans["30d"] = (_("last 30 days"), 43_200)

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [(value, label) for value, (label, _minutes) in self.spans.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        chosen = self.spans.get(self.value() or "")
        if chosen is None:
            return queryset
        return queryset.filter(pk__gte=ids.first_key(ids.now_us() - chosen[1] * _MINUTE_US))


class _ConditionFilter(SimpleListFilter):
    """Filter by a condition. Without an index it looks at the newest rows only, unless a time is chosen."""

    indexed = False

    def condition(self, value: str) -> dict[str, Any] | None:
        """The condition as keyword arguments of ``filter``; None if no row can match."""
        raise NotImplementedError  # abstract: each filter says its own; the admin's metaclass leaves no room for ABC

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value()
        if value is None:
            return queryset
        condition = self.condition(value)
        if condition is None:
            return queryset.none()
        bounded = self.indexed or SinceFilter.parameter_name in request.GET
        return (queryset if bounded else newest_rows(queryset)).filter(**condition)


class ChoiceFilter(_ConditionFilter):
    """Filter by a column with fixed choices."""

    values: type[IntegerChoices]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return [(choice.label, format.readable_name(choice.label)) for choice in self.values]

    def condition(self, value: str) -> dict[str, Any] | None:
        number = {choice.label: choice.value for choice in self.values}.get(value)
        return None if number is None else {self.parameter_name or "": number}


class TurnStatusFilter(ChoiceFilter):
    title, parameter_name, values, indexed = _("status"), "status", TurnStatus, True


class ResponseStatusFilter(ChoiceFilter):
    title, parameter_name, values = _("status"), "status", TurnStatus


class StepStatusFilter(ChoiceFilter):
    title, parameter_name, values = _("status"), "status", StepStatus


class StepTypeFilter(ChoiceFilter):
    title, parameter_name, values = _("type"), "type", StepType


class ApiFilter(ChoiceFilter):
    title, parameter_name, values = _("API"), "api", Api


class SourceFilter(ChoiceFilter):
    title, parameter_name, values = _("source"), "source", Source


class _TermFilter(_ConditionFilter):
    """Filter by an interned name."""

    kind: TermKind
    column: str

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        names = terms.all_of(self.kind)[:MAX_CHOICES]
        chosen = request.GET.get(self.parameter_name or "")
        return [(name, name) for name in [*names, *({chosen or ""} - {*names, ""})]]

    def condition(self, value: str) -> dict[str, Any] | None:
        number = terms.find(self.kind, value)
        return None if number is None else {self.column: number}


class TurnModelFilter(_TermFilter):
    title, parameter_name, kind, column, indexed = _("model"), "model", TermKind.MODEL, "model_id", True


class StepModelFilter(_TermFilter):
    title, parameter_name, kind, column = _("model"), "model", TermKind.MODEL, "model_id"


class ToolFilter(_TermFilter):
    title, parameter_name, kind, column = _("tool"), "tool", TermKind.TOOL, "tool_id"


class _ParentFilter(_ConditionFilter):
    """Filter by a parent record's public id; offered only when a link has chosen it."""

    kind: Kind
    column: str
    indexed = True

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        chosen = request.GET.get(self.parameter_name or "")
        return [(chosen, chosen)] if chosen else []

    def condition(self, value: str) -> dict[str, Any] | None:
        key = ids.parse(self.kind, value)
        return None if key is None else {self.column: key}


class AgentFilter(_ParentFilter):
    title, parameter_name, kind, column = _("agent"), "agent", Kind.AGENT, "agent_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return _with_chosen(agents.names(actor_of(request))[:MAX_CHOICES], super().lookups(request, model_admin))


def _with_chosen(names: list[tuple[str, str]], chosen: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """(public id, name) of these agents, and of the chosen one even if it is not among them."""
    yield from ((public_id, name) for name, public_id in names)
    yield from (choice for choice in chosen if choice[0] not in {public_id for _name, public_id in names})


class SessionFilter(_ParentFilter):
    title, parameter_name, kind, column = _("session"), "session", Kind.SESSION, "session_id"


class VectorDBFilter(_ParentFilter):
    title, parameter_name, kind, column = _("vector database"), "db", Kind.VECTOR_DB, "vector_db_id"


class TurnFilter(_ParentFilter):
    title, parameter_name, kind, column = _("turn"), "turn", Kind.TURN, "turn_id"
