"""Admin of agents: the store creates, revises, disables and deletes them. Revisions never change; a new one
follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import Prefetch, Q
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from agents.base import ids
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.pages.admin.filters import SinceFilter, SourceFilter
from agents.pages.admin.forms import AgentForm
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.turns import Turn
from agents.record.store import agents
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ManagedAdmin
from agents.uikit.admin.column_mixins import TimestampColumns
from agents.uikit.admin.current_actor import actor_of
from agents.uikit.admin.row_limits import count_label
from agents.uikit.links import at

if TYPE_CHECKING:
    _FormSet = BaseInlineFormSet[AgentRevision, Agent, Any]
    _Inline = admin.TabularInline[AgentRevision, Agent]
else:  # generic in the stubs only
    _FormSet, _Inline = BaseInlineFormSet, admin.TabularInline

MAX_REVISIONS = 20
"""The newest revisions, listed on an agent's page."""


class _NewestRevisions(_FormSet):
    """Only the newest revisions; an agent may have thousands, each with its configuration."""

    def get_queryset(self) -> Any:
        if not hasattr(self, "_newest"):
            self._newest = list(super().get_queryset()[:MAX_REVISIONS])
        return self._newest


class RevisionInline(_Inline):
    model = AgentRevision
    formset = _NewestRevisions
    verbose_name_plural = _("revisions, the newest")
    fields = readonly_fields = ("number", "created", "by", "body")
    ordering = ("-number",)
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True  # of an agent that may be seen

    @admin.display(description=_("made"))
    def created(self, revision: AgentRevision) -> str:
        return cell_html.timestamp(revision.created_at)

    @admin.display(description=_("by"))
    def by(self, revision: AgentRevision) -> str:
        return str(revision.author or cell_html.NOTHING)

    @admin.display(description=_("configuration"))
    def body(self, revision: AgentRevision) -> str:
        return cell_html.collapsible(revision.config)


@admin.register(Agent)
class AgentAdmin(TimestampColumns, ManagedAdmin):
    kind = Kind.AGENT
    id_columns = {Kind.AGENT: "pk"}
    prefetched = (Prefetch("revision", AgentRevision.objects.only("number")),)
    form = AgentForm
    inlines = (RevisionInline,)
    actions = ("enable", "disable", *ManagedAdmin.actions)
    list_display = ("title", "by_model", "state", "revision_number", "source", "created", "updated", "its_sessions")
    list_filter = (SinceFilter, SourceFilter)
    search_help_text = _("A public id, or a part of the name or the model.")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "name",
                    "model",
                    "instructions",
                    "max_infer_iters",
                    "enable_session_persistence",
                    "resume_runs",
                )
            },
        ),
        (
            _("Tools and shields"),
            {"fields": ("toolgroups", "client_tools", "tool_config", "input_shields", "output_shields")},
        ),
        (
            _("Sampling and output"),
            {"fields": ("sampling_params", "response_format", "openai"), "classes": ("collapse",)},
        ),
    )
    read_fieldsets = ((None, {"fields": ("public_id", "state", "title", "by_model", "created", "updated")}),)

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return rows.filter(Q(name__icontains=text) | Q(model__icontains=text))

    def view_on_site(self, obj: Any) -> str:
        return at(f"/agents/{ids.public(Kind.AGENT, obj.pk)}/")

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return self.inlines if obj else ()

    # ------------------------------------------------------------------------------ through the store

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        actor = actor_of(request)
        if change:
            agents.revise(actor, obj.pk, form.config)
        else:
            obj.pk = agents.create(actor, form.config)

    def delete_record(self, actor: Actor, key: int) -> None:
        agents.delete(actor, key)

    def dependent_counts(self, keys: list[int]) -> dict[str, str]:
        sessions = Session.objects.unscoped("of agents to delete").filter(agent_id__in=keys)
        turns = Turn.objects.unscoped("of agents to delete").filter(agent_id__in=keys)
        return {"agents": str(len(keys)), "sessions": count_label(sessions), "turns": count_label(turns)}

    @admin.action(permissions=["change"], description=_("Enable selected agents"))
    def enable(self, request: HttpRequest, queryset: Any) -> None:
        self._switch(request, queryset, disabled=False)

    @admin.action(permissions=["change"], description=_("Disable selected agents: they take no new turns"))
    def disable(self, request: HttpRequest, queryset: Any) -> None:
        self._switch(request, queryset, disabled=True)

    def _switch(self, request: HttpRequest, rows: Any, *, disabled: bool) -> None:
        if self.too_many(request, rows):
            return
        changed = list(rows.filter(disabled_at__isnull=disabled))
        for agent in changed:
            agents.set_disabled(actor_of(request), agent.pk, disabled)
            self.log_change(request, agent, "Disabled." if disabled else "Enabled.")
        message = ngettext("%(count)d agent changed.", "%(count)d agents changed.", len(changed))
        self.message_user(request, message % {"count": len(changed)}, messages.SUCCESS)

    # ---------------------------------------------------------------------------------------- cells

    @admin.display(description=_("name"))
    def title(self, agent: Agent) -> str:
        return cell_html.text_cell(agent.name)

    @admin.display(description=_("model"))
    def by_model(self, agent: Agent) -> str:
        return cell_html.text_cell(agent.model)

    @admin.display(description=_("state"))
    def state(self, agent: Agent) -> str:
        if agent.disabled_at:
            return cell_html.state("cancelled", _now("disabled"))
        return cell_html.state("completed", _now("enabled"))

    @admin.display(description=_("revision"))
    def revision_number(self, agent: Agent) -> str:
        return str(agent.revision.number) if agent.revision else cell_html.NOTHING

    @admin.display(description=_("sessions"))
    def its_sessions(self, agent: Agent) -> str:
        return cell_html.list_link(Kind.SESSION, str(_("sessions")), agent=ids.public(Kind.AGENT, agent.pk))
