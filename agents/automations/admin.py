"""The admin of automations: those of all users, and what became of their times. They are made on their page or in the
API; here they are looked at, paused, gone on with, and deleted."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from agents.automations.models import Automation, AutomationRun, RunState
from agents.automations.runner import changes
from agents.automations.store import automations
from agents.automations.store.automations import SESSION_FAILED
from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict
from agents.base.ids import Kind
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ReadAdmin, StoreAdmin
from agents.uikit.admin.column_mixins import OwnershipColumns, TimestampColumns
from agents.uikit.admin.current_actor import actor_of

_STATUS = {
    RunState.QUEUED: "queued",
    RunState.COMPLETED: "completed",
    RunState.FAILED: "failed",
    RunState.SKIPPED: "cancelled",
}


@admin.register(Automation)
class AutomationAdmin(TimestampColumns, OwnershipColumns, StoreAdmin):
    kind = Kind.AUTOMATION
    id_columns = {Kind.AUTOMATION: "pk"}
    delete_action = "manage"
    prefetched = ("owner",)
    deferred = ("target",)
    actions = ("pause", "resume", *StoreAdmin.actions)
    list_display = ("title", "times", "state", "next_run", "owned_by", "created")
    search_help_text = _("A part of the name.")
    fieldsets = (
        (None, {"fields": ("title", "times")}),
        (_("State"), {"fields": ("state", "reason", "next_run", "created", "updated")}),
        (_("Access"), {"fields": ("public_id", "owned_by", "scope_label")}),
    )

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return rows.filter(name__icontains=text)

    def delete_record(self, actor: Actor, key: int) -> None:
        automations.delete(actor, ids.openai(Kind.AUTOMATION, key))

    @admin.action(permissions=["delete"], description=_("Pause selected automations"))
    def pause(self, request: HttpRequest, queryset: Any) -> None:
        self._switch(request, queryset, changes.pause)

    @admin.action(permissions=["delete"], description=_("Resume selected automations"))
    def resume(self, request: HttpRequest, queryset: Any) -> None:
        self._switch(request, queryset, changes.resume)

    def _switch(self, request: HttpRequest, rows: Any, change: Any) -> None:
        if self.too_many(request, rows):
            return
        count = 0
        for key in list(rows.values_list("pk", flat=True)):
            try:
                change(actor_of(request), ids.openai(Kind.AUTOMATION, key))
                count += 1
            except Conflict as error:  # it has run, and is over
                self.message_user(request, error.message, messages.WARNING)
        message = ngettext("%(count)d automation changed.", "%(count)d automations changed.", count)
        self.message_user(request, message % {"count": count}, messages.SUCCESS)

    @admin.display(description=_("name"))
    def title(self, automation: Automation) -> str:
        return cell_html.text_cell(automation.name)

    @admin.display(description=_("times"))
    def times(self, automation: Automation) -> str:
        if not automation.expression:
            return cell_html.timestamp(automation.run_at)
        return cell_html.text_cell(f"{automation.expression} ({automation.timezone})")

    @admin.display(description=_("state"))
    def state(self, automation: Automation) -> str:
        if automation.next_at:
            return cell_html.state("completed", _now("active"))
        if automation.paused_at:
            return cell_html.state("cancelled", _now("paused"))
        return cell_html.state("queued", _now("over"))

    @admin.display(description=_("paused because"))
    def reason(self, automation: Automation) -> str:
        return _now("its session was deleted") if automation.pause_reason == SESSION_FAILED else cell_html.NOTHING

    @admin.display(description=_("next run"))
    def next_run(self, automation: Automation) -> str:
        return cell_html.timestamp(automation.next_at)


@admin.register(AutomationRun)
class AutomationRunAdmin(ReadAdmin):
    """What became of the times of automations that the reader sees."""

    prefetched = ("automation",)
    list_display = ("when", "of", "state_text", "error")
    fields = (*list_display, "error_code", "attempts")

    def get_queryset(self, request: HttpRequest) -> Any:
        seen = Automation.objects.visible_to(actor_of(request))
        return super().get_queryset(request).filter(automation__in=seen.values("pk"))

    @admin.display(description=_("when"))
    def when(self, run: AutomationRun) -> str:
        return cell_html.timestamp(run.scheduled_at or run.created_at)

    @admin.display(description=_("automation"))
    def of(self, run: AutomationRun) -> str:
        return cell_html.text_cell(run.automation.name)

    @admin.display(description=_("state"))
    def state_text(self, run: AutomationRun) -> str:
        state = RunState(run.state)
        return cell_html.state(_STATUS[state], _now(state.label))
