"""Groups of tools: MCP servers under a name, with what they last said they have. Their headers are
sealed; a page knows of them by name only."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from agents.base import redaction
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.base.run_sync import run_on_loop
from agents.loop.current_service import service
from agents.record.schemas.content import ToolDef
from agents.tools import store as toolgroups
from agents.tools.admin_forms import ToolGroupForm
from agents.tools.models import ToolGroup
from agents.tools.runner import toolgroups as asking
from agents.uikit import format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ManagedAdmin
from agents.uikit.admin.column_mixins import OwnershipColumns, TimestampColumns
from agents.uikit.admin.current_actor import actor_of
from agents.uikit.templates import fragment

MAX_REFRESHED = 20
"""Servers that one action asks, one after the other: each may take its time."""


@admin.register(ToolGroup)
class ToolGroupAdmin(TimestampColumns, OwnershipColumns, ManagedAdmin):
    kind = Kind.TOOLGROUP
    id_columns = {Kind.TOOLGROUP: "pk"}
    prefetched = ("owner",)
    deferred = ("secrets",)
    form = ToolGroupForm
    fixed = ("name",)
    actions = ("ask_again", *ManagedAdmin.actions)
    list_display = ("title", "endpoint", "tool_count", "state", "listed", "owned_by")
    search_help_text = _("A public id, or a part of the name or the endpoint.")
    fieldsets = ((None, {"fields": ("name", "provider_id", "uri", "args", "headers")}),)
    _listing = (_("What it has"), {"fields": ("state", "note_text", "listed", "its_tools")})
    _access = (_("Access"), {"fields": ("public_id", "header_names", "owned_by", "scope_label", "created")})
    more_fieldsets = (_listing, _access)
    read_fieldsets = ((None, {"fields": ("title", "provider", "endpoint", "args_text")}), _listing, _access)

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return rows.filter(Q(name__icontains=text) | Q(uri__icontains=text))

    # ------------------------------------------------------------------------------ through the store

    def save_model(self, request: HttpRequest, obj: ToolGroup, form: Any, change: bool) -> None:
        providers, actor = service().providers, actor_of(request)
        if change:
            run_on_loop(asking.revise(providers, actor, obj.pk, form.group))
        else:
            obj.pk = run_on_loop(asking.register(providers, actor, form.group, {}))
        note = toolgroups.get(actor, obj.pk).note
        if note:
            self.message_user(request, f"“{obj.name}”: {note}", messages.WARNING)

    def delete_record(self, actor: Actor, key: int) -> None:
        toolgroups.delete(actor, key)

    @admin.action(permissions=["change"], description=_("Ask selected groups what they have"))
    def ask_again(self, request: HttpRequest, queryset: Any) -> None:
        chosen = list(queryset[: MAX_REFRESHED + 1])
        if len(chosen) > MAX_REFRESHED:
            message = _now("At most %(count)s at once: choose fewer.") % {"count": MAX_REFRESHED}
            self.message_user(request, message, messages.ERROR)
            return
        faults = [
            run_on_loop(asking.refresh_registered(service().providers, actor_of(request), group.pk)) for group in chosen
        ]
        for group, fault in zip(chosen, faults, strict=True):
            if fault:
                self.message_user(request, f"“{group.name}”: {fault.message}", messages.WARNING)
        answered = faults.count(None)
        message = ngettext("%(count)d group has answered.", "%(count)d groups have answered.", answered)
        self.message_user(request, message % {"count": answered}, messages.SUCCESS if answered else messages.INFO)

    # ----------------------------------------------------------------------------------------- cells

    @admin.display(description=_("name"))
    def title(self, group: ToolGroup) -> str:
        return cell_html.text_cell(group.name)

    @admin.display(description=_("provider"))
    def provider(self, group: ToolGroup) -> str:
        return cell_html.text_cell(group.provider_id)

    @admin.display(description=_("endpoint"))
    def endpoint(self, group: ToolGroup) -> str:
        return cell_html.text_cell(redaction.redacted_url(group.uri))

    @admin.display(description=_("arguments"))
    def args_text(self, group: ToolGroup) -> str:
        return cell_html.code(group.args if group.args != "{}" else "")

    @admin.display(description=_("tools"))
    def tool_count(self, group: ToolGroup) -> str:
        return format.integer(len(toolgroups.tools_of(group))) if group.listed_at else cell_html.NOTHING

    @admin.display(description=_("state"))
    def state(self, group: ToolGroup) -> str:
        if group.listed_at:
            return cell_html.state("completed", _now("answered"))
        if group.note:
            return cell_html.state("failed", _now("never answered"))
        return cell_html.state("queued", _now("never asked"))

    @admin.display(description=_("when last asked"))
    def note_text(self, group: ToolGroup) -> str:
        """What was wrong then."""
        return cell_html.text_cell(group.note)

    @admin.display(description=_("listed"))
    def listed(self, group: ToolGroup) -> str:
        return cell_html.timestamp(group.listed_at)

    @admin.display(description=_("headers"))
    def header_names(self, group: ToolGroup) -> str:
        record = toolgroups.record_of(group)
        return cell_html.text_cell(", ".join(f"{name}: ***" for name in record.headers))

    @admin.display(description=_("tools"))
    def its_tools(self, group: ToolGroup) -> str:
        tools = [
            {"name": tool.name, "description": tool.description, "parameters": _parameters(tool)}
            for tool in toolgroups.tools_of(group)
        ]
        return fragment("tools/_tools.html", tools=tools) if tools else cell_html.NOTHING


def _parameters(tool: ToolDef) -> str:
    """The names of a tool's parameters, those it needs with a star."""
    schema = tool.input_schema or {}
    properties, required = schema.get("properties"), schema.get("required")
    names = (
        list(properties) if isinstance(properties, dict) else [parameter.name for parameter in tool.parameters or ()]
    )
    needed = required if isinstance(required, list) else []
    return ", ".join(f"{name}*" if name in needed else name for name in names)
