"""Admin of sessions: read-only, except that the store can delete one with everything in it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents.base import ids
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.pages.admin.filters import AgentFilter, ApiFilter, SinceFilter, SourceFilter
from agents.record.models.agents import Session
from agents.record.models.turns import Item, Turn
from agents.record.store import sessions
from agents.uikit import format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import StoreAdmin
from agents.uikit.admin.column_mixins import OwnershipColumns, StatusColumns, TimestampColumns, UsageColumns
from agents.uikit.admin.row_limits import count_label, newest_rows
from agents.uikit.links import at


@admin.register(Session)
class SessionAdmin(TimestampColumns, UsageColumns, StatusColumns, OwnershipColumns, StoreAdmin):
    kind = Kind.SESSION
    id_columns = {Kind.SESSION: "pk", Kind.AGENT: "agent_id"}
    delete_action = "run"
    prefetched = ("agent",)
    list_display = ("created", "title", "by_agent", "its_turns", "tokens", "cost", "from_source", "by_api", "updated")
    list_filter = (SinceFilter, AgentFilter, SourceFilter, ApiFilter)
    search_help_text = _("The public id of a session or an agent, or a part of the name among the newest 200,000.")
    fieldsets = (
        (None, {"fields": ("public_id", "title", "by_agent", "from_source", "by_api", "running", "metadata_text")}),
        (_("Sums"), {"fields": ("its_turns", "its_items", "token_sums", "cost")}),
        (_("Times"), {"fields": ("created", "updated", "expires")}),
        (_("Access"), {"fields": ("owned_by", "scope_label")}),
    )

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return newest_rows(rows).filter(name__icontains=text)

    def view_on_site(self, obj: Any) -> str:
        return at(f"/sessions/{ids.public(Kind.SESSION, obj.pk)}/")

    def delete_record(self, actor: Actor, key: int) -> None:
        sessions.delete(actor, key)

    def dependent_counts(self, keys: list[int]) -> dict[str, str]:
        turns = Turn.objects.unscoped("of sessions to delete").filter(session_id__in=keys)
        items = Item.objects.unscoped("of sessions to delete").filter(session_id__in=keys)
        return {"sessions": str(len(keys)), "turns": count_label(turns), "items": count_label(items)}

    @admin.display(description=_("name"))
    def title(self, session: Session) -> str:
        return cell_html.text_cell(session.name)

    @admin.display(description=_("agent"))
    def by_agent(self, session: Session) -> str:
        return cell_html.link(Kind.AGENT, session.agent_id, str(session.agent or ""))

    @admin.display(description=_("turns"))
    def its_turns(self, session: Session) -> str:
        public_id = ids.public(Kind.SESSION, session.pk)
        return cell_html.list_link(Kind.TURN, format.integer(session.turn_count), session=public_id)

    @admin.display(description=_("items"))
    def its_items(self, session: Session) -> str:
        public_id = ids.public(Kind.SESSION, session.pk)
        return cell_html.list_link(Kind.ITEM, format.integer(session.item_count), session=public_id)

    @admin.display(description=_("running turn"))
    def running(self, session: Session) -> str:
        return cell_html.link(Kind.TURN, session.active_turn)

    @admin.display(description=_("metadata"))
    def metadata_text(self, session: Session) -> str:
        return cell_html.json_body(session.metadata)
