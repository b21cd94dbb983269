"""Read-only admin of steps, items and the change feed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Prefetch
from django.http import HttpRequest
from django.utils.text import Truncator
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from agents.base import ids
from agents.base.ids import Kind
from agents.base.models.changes import Change, ChangeKind
from agents.pages.admin.catalogue_values import CatalogueAdmin
from agents.pages.admin.filters import (
    SessionFilter,
    SinceFilter,
    StepModelFilter,
    StepStatusFilter,
    StepTypeFilter,
    ToolFilter,
    TurnFilter,
)
from agents.pages.admin.turns import MAX_PREVIEW_CHARS, PREVIEWS
from agents.record.models.turns import Item, Step, StepDetail
from agents.record.store import large_values
from agents.uikit import format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ReadAdmin, RecordAdmin
from agents.uikit.admin.column_mixins import DurationColumns, StatusColumns, UsageColumns
from agents.uikit.admin.row_limits import MAX_SCANNED, newest_rows
from agents.uikit.links import at


@admin.register(Step)
class StepAdmin(DurationColumns, UsageColumns, StatusColumns, CatalogueAdmin):
    kind = Kind.STEP
    level = "step"
    shown = (
        "id type kind tool model status error error.message violation server_side started ended duration ttft "
        "tokens tokens.in tokens.out tokens.cached tokens.reasoning cost"
    )
    id_columns = {Kind.STEP: "pk", Kind.TURN: "turn_id"}
    prefetched = ("tool", "model", Prefetch("turn__body", PREVIEWS))
    list_display = ("started", "by_type", "called", "of_turn", "number", "state", "took", "tokens", "cost")
    list_filter = (SinceFilter, StepTypeFilter, StepStatusFilter, ToolFilter, StepModelFilter, TurnFilter)
    search_help_text = _("The public id of a step or a turn, or a part of the name among the newest 200,000.")
    fieldsets = (
        (None, {"fields": ("public_id", "of_turn", "inside", "number", "round", "by_type", "called", "kind_name")}),
        (_("Outcome"), {"fields": ("state", "error_kind", "error_text", "violates", "ran_at")}),
        (_("Content"), {"fields": ("body",)}),
        (_("Times"), {"fields": ("started", "ended", "took", "first_token")}),
        (_("Sums"), {"fields": ("token_sums", "cost", "price_label")}),
    )

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return newest_rows(rows).filter(name__icontains=text)

    def view_on_site(self, obj: Any) -> str:
        return at(f"/turns/{ids.public(Kind.TURN, obj.turn_id)}/")

    @admin.display(description=_("type"))
    def by_type(self, step: Step) -> str:
        return format.readable_name(step.get_type_display())

    @admin.display(description=_("name"))
    def called(self, step: Step) -> str:
        return cell_html.text_cell(step.name or str(step.tool or step.model or ""))

    @admin.display(description=_("turn"))
    def of_turn(self, step: Step) -> str:
        body = getattr(step.turn, "body", None)
        return cell_html.link(
            Kind.TURN, step.turn_id, Truncator(body.input_preview if body else "").chars(MAX_PREVIEW_CHARS)
        )

    @admin.display(description=_("inside the step"))
    def inside(self, step: Step) -> str:
        return cell_html.link(Kind.STEP, step.parent_id)

    @admin.display(description=_("kind"))
    def kind_name(self, step: Step) -> str:
        return cell_html.text_cell(str(step.kind or ""))

    @admin.display(description=_("type of error"))
    def error_kind(self, step: Step) -> str:
        return cell_html.text_cell(str(step.error_type or ""))

    @admin.display(description=_("error"))
    def error_text(self, step: Step) -> str:
        return cell_html.code(StepDetail.objects.filter(pk=step.pk).values_list("error", flat=True).first() or "")

    @admin.display(description=_("content"))
    def body(self, step: Step) -> str:
        row = StepDetail.objects.filter(pk=step.pk).values_list("encoding", "body").first()
        if row and row[0] == large_values.OUTLINE:
            return cell_html.code(large_values.outline(*row).body.decode(), is_partial=True)
        return cell_html.code(cell_html.decode_beginning(*row)) if row else cell_html.NOTHING

    @admin.display(description=_("violation"))
    def violates(self, step: Step) -> str:
        return _now("yes") if step.violation else _now("no")

    @admin.display(description=_("ran at"))
    def ran_at(self, step: Step) -> str:
        return _now("the server") if step.server_side else _now("the client")

    @admin.display(description=_("price"))
    def price_label(self, step: Step) -> str:
        return str(step.price or cell_html.NOTHING)


@admin.register(Item)
class ItemAdmin(RecordAdmin):
    """The history of a session, as it is sent to a model."""

    kind = Kind.ITEM
    id_columns = {Kind.ITEM: "pk", Kind.SESSION: "session_id", Kind.TURN: "turn_id", Kind.STEP: "step_id"}
    prefetched = ("session",)
    deferred = ("body",)
    list_display = ("created", "in_session", "number", "of_turn", "of_step", "hidden")
    list_filter = (SinceFilter, SessionFilter, TurnFilter)
    search_help_text = _("The public id of an item, session or turn.")
    fieldsets = ((None, {"fields": ("public_id", "in_session", "of_turn", "of_step", "number", "hidden", "text")}),)

    @admin.display(description=_("made"))
    def created(self, item: Item) -> str:
        return f"{format.date_time(ids.key_time_us(item.pk))} UTC"

    @admin.display(description=_("session"))
    def in_session(self, item: Item) -> str:
        return cell_html.link(Kind.SESSION, item.session_id, str(item.session))

    @admin.display(description=_("turn"))
    def of_turn(self, item: Item) -> str:
        return cell_html.link(Kind.TURN, item.turn_id, str(_("turn")))

    @admin.display(description=_("step"))
    def of_step(self, item: Item) -> str:
        return cell_html.link(Kind.STEP, item.step_id, str(_("step")))

    @admin.display(description=_("content"))
    def text(self, item: Item) -> str:
        return cell_html.code(bytes(item.body).decode(errors="replace"))


_KINDS = {
    ChangeKind.AGENT: Kind.AGENT,
    ChangeKind.SESSION: Kind.SESSION,
    ChangeKind.TURN: Kind.TURN,
    ChangeKind.STEP: Kind.STEP,
    ChangeKind.RESPONSE: Kind.RESPONSE,
    ChangeKind.INPUT: Kind.TURN,
}


@admin.register(Change)
class ChangeAdmin(ReadAdmin):
    """The feed of changes behind all live views. It names everyone's records, so only superusers see it."""

    list_display = ("seq", "what", "record", "deleted")
    list_display_links = None
    fields = list_display
    search_fields = ("pk",)
    search_help_text = _("A public id, among the newest 200,000 changes.")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        named = [(number, ids.parse(kind, text)) for number, kind in _KINDS.items()]
        matches = [(number, key) for number, key in named if key is not None]
        if not matches:
            return queryset.none(), False
        latest = Change.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
        return queryset.filter(seq__gt=latest - MAX_SCANNED, kind=matches[0][0], key=matches[0][1]), False

    @admin.display(description=_("kind"))
    def what(self, change: Change) -> str:
        return str(change.get_kind_display())

    @admin.display(description=_("record"))
    def record(self, change: Change) -> str:
        kind = _KINDS[ChangeKind(change.kind)]
        return ids.public(kind, change.key) if change.deleted else cell_html.link(kind, change.key)
