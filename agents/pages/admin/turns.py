"""Read-only admin of turns and their responses, with links to session, agent, steps and the turn's page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Prefetch
from django.http import HttpRequest
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from agents.base import ids
from agents.base.errors import QuerySyntax
from agents.base.ids import Kind
from agents.base.models.people import ApiKey
from agents.base.models.processes import Process
from agents.logs.store.query import condition
from agents.pages.admin.catalogue_values import CatalogueAdmin
from agents.pages.admin.filters import (
    AgentFilter,
    ApiFilter,
    ResponseStatusFilter,
    SessionFilter,
    SinceFilter,
    SourceFilter,
    TurnFilter,
    TurnModelFilter,
    TurnStatusFilter,
)
from agents.query import parser
from agents.record.models.turns import Response, Turn, TurnBody
from agents.uikit import format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import RecordAdmin
from agents.uikit.admin.column_mixins import DurationColumns, OwnershipColumns, StatusColumns, UsageColumns
from agents.uikit.admin.current_actor import actor_of
from agents.uikit.links import at

MAX_PREVIEW_CHARS = 80
PREVIEWS = TurnBody.all_objects.only("turn_id", "input_preview", "output_preview")


@admin.register(Turn)
class TurnAdmin(DurationColumns, UsageColumns, StatusColumns, OwnershipColumns, CatalogueAdmin):
    kind = Kind.TURN
    level = "turn"
    shown = (
        "id turn user key api source status error error.message finish model provider started ended duration ttft "
        "tokens tokens.in tokens.out tokens.cached tokens.reasoning cost"
    )
    id_columns = {Kind.TURN: "pk", Kind.SESSION: "session_id", Kind.AGENT: "agent_id"}
    prefetched = ("agent", "session", "model", Prefetch("body", PREVIEWS))
    list_display = ("started", "by_agent", "in_session", "first_words", "state", "model_name", "took", "tokens", "cost")
    list_filter = (SinceFilter, TurnStatusFilter, TurnModelFilter, AgentFilter, SessionFilter, SourceFilter, ApiFilter)
    search_help_text = _(
        "The public id of a turn, session or agent; or words and terms as in the logs, such as status:failed tool:…"
    )
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "public_id",
                    "in_session",
                    "by_agent",
                    "its_steps",
                    "its_responses",
                    "its_items",
                    "branches_from",
                )
            },
        ),
        (_("Outcome"), {"fields": ("state", "stop_reason", "error_text", "error_kind", "counts")}),
        (_("What was said"), {"fields": ("input_text", "output_text")}),
        (_("Times"), {"fields": ("started", "ended", "took", "first_token")}),
        (_("Sums"), {"fields": ("token_sums", "cost")}),
        (
            _("Origin"),
            {"fields": ("number", "model_name", "provider", "revision", "by_api", "from_source", "end_user", "by_key")},
        ),
        (_("As received"), {"fields": ("as_received", "metadata_text", "sanitized"), "classes": ("collapse",)}),
        (_("Access and process"), {"fields": ("owned_by", "scope_label", "lease"), "classes": ("collapse",)}),
    )

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        try:
            query = parser.parse(text, now_us=ids.now_us(), zone="UTC")
            return rows.filter(condition(query, actor_of(request)))
        except QuerySyntax as error:
            self.message_user(request, error.message, messages.ERROR)
            return rows.none()

    def view_on_site(self, obj: Any) -> str:
        return at(f"/turns/{ids.public(Kind.TURN, obj.pk)}/")

    # ----------------------------------------------------------------------------------------- links

    @admin.display(description=_("agent"))
    def by_agent(self, turn: Turn) -> str:
        return cell_html.link(Kind.AGENT, turn.agent_id, str(turn.agent or ""))

    @admin.display(description=_("session"))
    def in_session(self, turn: Turn) -> str:
        return cell_html.link(Kind.SESSION, turn.session_id, str(turn.session))

    @admin.display(description=_("branches from"))
    def branches_from(self, turn: Turn) -> str:
        return cell_html.link(Kind.TURN, turn.parent_id)

    @admin.display(description=_("steps"))
    def its_steps(self, turn: Turn) -> str:
        return cell_html.list_link(Kind.STEP, format.integer(turn.step_count), turn=self.public_id(turn))

    @admin.display(description=_("requests"))
    def its_responses(self, turn: Turn) -> str:
        return cell_html.list_link(Kind.RESPONSE, format.integer(turn.leg_count), turn=self.public_id(turn))

    @admin.display(description=_("items"))
    def its_items(self, turn: Turn) -> str:
        return cell_html.list_link(Kind.ITEM, str(_("of this turn")), turn=self.public_id(turn))

    # ---------------------------------------------------------------------------------------- bodies

    @admin.display(description=_("first words"))
    def first_words(self, turn: Turn) -> str:
        return cell_html.text_cell(Truncator(_body(turn).input_preview).chars(MAX_PREVIEW_CHARS))

    @admin.display(description=_("asked"))
    def input_text(self, turn: Turn) -> str:
        return cell_html.code(_body(turn).input_messages)

    @admin.display(description=_("answered"))
    def output_text(self, turn: Turn) -> str:
        return cell_html.code(_body(turn).output_message)

    @admin.display(description=_("error"))
    def error_text(self, turn: Turn) -> str:
        return cell_html.code(_body(turn).error)

    @admin.display(description=_("request"))
    def as_received(self, turn: Turn) -> str:
        return cell_html.code(_body(turn).request)

    @admin.display(description=_("metadata"))
    def metadata_text(self, turn: Turn) -> str:
        return cell_html.json_body(_body(turn).metadata)

    @admin.display(description=_("characters replaced"), boolean=True)
    def sanitized(self, turn: Turn) -> bool:
        return bool(_body(turn).sanitized)

    # ----------------------------------------------------------------------------------------- facts

    @admin.display(description=_("model"))
    def model_name(self, turn: Turn) -> str:
        return cell_html.text_cell(str(turn.model or ""))

    @admin.display(description=_("type of error"))
    def error_kind(self, turn: Turn) -> str:
        return cell_html.text_cell(str(turn.error_type or ""))

    @admin.display(description=_("counts"))
    def counts(self, turn: Turn) -> str:
        parts = {
            "iterations": turn.iterations,
            "tools": turn.tool_count,
            "errors": turn.error_count,
            "violations": turn.violation_count,
        }
        return ", ".join(f"{format.integer(number)} {name}" for name, number in parts.items())

    @admin.display(description=_("API key"))
    def by_key(self, turn: Turn) -> str:
        key = ApiKey.objects.filter(pk=turn.actor_key).first() if turn.actor_key else None
        return cell_html.link(Kind.KEY, turn.actor_key, str(key or ""))

    @admin.display(description=_("process"))
    def lease(self, turn: Turn) -> str:
        process = Process.objects.filter(pk=turn.lease_owner).first() if turn.lease_owner else None
        return str(process or turn.lease_owner or cell_html.NOTHING)


def _body(turn: Turn) -> TurnBody:
    """The texts of a turn; empty ones if they are missing."""
    body: TurnBody = getattr(turn, "body", None) or TurnBody(turn=turn)
    return body


@admin.register(Response)
class ResponseAdmin(UsageColumns, StatusColumns, RecordAdmin):
    """A response: one request of a turn and its answer."""

    kind = Kind.RESPONSE
    id_columns = {Kind.RESPONSE: "pk", Kind.TURN: "turn_id"}
    prefetched = (Prefetch("turn__body", PREVIEWS),)
    deferred = ("request",)
    list_display = ("created", "of_turn", "number", "state", "by_api", "tokens", "ended")
    list_filter = (SinceFilter, TurnFilter, ResponseStatusFilter, ApiFilter)
    search_help_text = _("The public id of a response or a turn.")
    fieldsets = (
        (None, {"fields": ("public_id", "of_turn", "number", "continues", "state", "by_api", "token_sums")}),
        (_("Times"), {"fields": ("created", "ended", "events")}),
        (_("As received"), {"fields": ("body", "fingerprint", "body_hash")}),
    )

    @admin.display(description=_("turn"))
    def of_turn(self, response: Response) -> str:
        return cell_html.link(
            Kind.TURN, response.turn_id, Truncator(_body(response.turn).input_preview).chars(MAX_PREVIEW_CHARS)
        )

    @admin.display(description=_("continues"))
    def continues(self, response: Response) -> str:
        return cell_html.link(Kind.RESPONSE, response.previous_id)

    @admin.display(description=_("created"))
    def created(self, response: Response) -> str:
        return cell_html.timestamp(response.created_at)

    @admin.display(description=_("ended"))
    def ended(self, response: Response) -> str:
        return cell_html.timestamp(response.completed_at)

    @admin.display(description=_("events"))
    def events(self, response: Response) -> str:
        return f"{response.first_seq} – {'' if response.last_seq is None else response.last_seq}"

    @admin.display(description=_("request"))
    def body(self, response: Response) -> str:
        return cell_html.code(cell_html.decode_beginning(response.request_encoding, response.request))
