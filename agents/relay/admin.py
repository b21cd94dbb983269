"""The admin of the log of chat completions: it shows them as text and deletes them through the store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents.base import ids
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.base.schemas.wire import JSON
from agents.base.store.encoding import unpack
from agents.pages.admin.filters import ChoiceFilter, SinceFilter
from agents.relay import store as completions
from agents.relay.models import ChatCompletion, CompletionStatus
from agents.uikit import format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import StoreAdmin
from agents.uikit.admin.column_mixins import OwnershipColumns, StatusColumns
from agents.uikit.admin.row_limits import newest_rows
from agents.uikit.templates import fragment

MAX_MESSAGES = 200
"""The last messages of a request, of which at most this many are shown."""


MAX_DATA_URL = 100
"""Characters that are shown of an image in a message."""


class CompletionStatusFilter(ChoiceFilter):
    title, parameter_name, values = _("status"), "status", CompletionStatus


@admin.register(ChatCompletion)
class ChatCompletionAdmin(StatusColumns, OwnershipColumns, StoreAdmin):
    kind = Kind.COMPLETION
    id_columns = {Kind.COMPLETION: "pk"}
    delete_action = "manage"
    prefetched = ("owner",)
    deferred = ("body",)
    list_display = ("asked_at", "by_model", "state", "tokens_in", "tokens_out", "owned_by")
    list_filter = (SinceFilter, CompletionStatusFilter)
    search_help_text = _("An id, a model's name, or a part of it among the newest 200,000.")
    fieldsets = (
        (None, {"fields": ("public_id", "by_model", "state", "asked_at", "tokens_in", "tokens_out", "error_text")}),
        (_("What was said"), {"fields": ("asked", "answered")}),
        (_("As logged"), {"fields": ("asked_by", "left_out", "metadata_text", "body_text"), "classes": ("collapse",)}),
        (_("Access"), {"fields": ("owned_by", "scope_label"), "classes": ("collapse",)}),
    )

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        key = ids.parse_spelled(Kind.COMPLETION, search_term.strip())
        if key is not None:
            return queryset.filter(pk=key), False
        return super().get_search_results(request, queryset, search_term)

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        exact = rows.filter(model=text)
        return exact if exact.exists() else newest_rows(rows).filter(model__icontains=text)

    def delete_record(self, actor: Actor, key: int) -> None:
        completions.delete(actor, ids.openai(Kind.COMPLETION, key))

    @admin.display(description=_("id"))
    def public_id(self, record: ChatCompletion) -> str:
        return ids.openai(Kind.COMPLETION, record.pk)

    @admin.display(description=_("asked at"))
    def asked_at(self, call: ChatCompletion) -> str:
        return f"{format.date_time(ids.key_time_us(call.pk))} UTC"

    @admin.display(description=_("model"))
    def by_model(self, call: ChatCompletion) -> str:
        return cell_html.text_cell(call.model)

    @admin.display(description=_("tokens in"))
    def tokens_in(self, call: ChatCompletion) -> str:
        return format.count(call.input_tokens)

    @admin.display(description=_("tokens out"))
    def tokens_out(self, call: ChatCompletion) -> str:
        return format.count(call.output_tokens)

    # ---------------------------------------------------------------------------------------- bodies

    @admin.display(description=_("asked"))
    def asked(self, call: ChatCompletion) -> str:
        messages = _body(call).get("input_messages")
        return _conversation_html(messages[-MAX_MESSAGES:] if isinstance(messages, list) else [])

    @admin.display(description=_("answered"))
    def answered(self, call: ChatCompletion) -> str:
        choices = _body(call).get("choices")
        valid_choices = choices if isinstance(choices, list) else []
        return _conversation_html([choice.get("message") for choice in valid_choices if isinstance(choice, dict)])

    @admin.display(description=_("error"))
    def error_text(self, call: ChatCompletion) -> str:
        return cell_html.json_body(_body(call).get("error"))

    @admin.display(description=_("API"))
    def asked_by(self, call: ChatCompletion) -> str:
        return cell_html.text_cell(str(_body(call).get("api") or "chat completions"))

    @admin.display(description=_("tools left out"))
    def left_out(self, call: ChatCompletion) -> str:
        return cell_html.json_body(_body(call).get("left_out_tools"))

    @admin.display(description=_("metadata"))
    def metadata_text(self, call: ChatCompletion) -> str:
        return cell_html.json_body(_body(call).get("metadata"))

    @admin.display(description=_("body"))
    def body_text(self, call: ChatCompletion) -> str:
        return cell_html.code(cell_html.decode_beginning(call.encoding, call.body))


def _body(call: ChatCompletion) -> dict[str, JSON]:
    """Return the logged body, decoded once per page."""
    body: dict[str, JSON] | None = getattr(call, "_read", None)
    if body is None:
        body = msgspec.json.decode(unpack(call.encoding, call.body))
        call._read = body  # type: ignore[attr-defined]  # for the other fields of this page
    assert body is not None
    return body


def _conversation_html(messages: list[JSON]) -> str:
    """Render messages with their roles as text."""
    rendered = [
        (f"{_role(message)}{kind}", cell_html.code(text))
        for message in messages
        for kind, text in _message_texts(message)
    ]
    return fragment("relay/_conversation.html", said=rendered) if rendered else cell_html.NOTHING


def _role(message: JSON) -> str:
    return str(message.get("role") or "") if isinstance(message, dict) else ""


def _message_texts(message: JSON) -> Iterator[tuple[str, str]]:
    """Yield what was thought before a message, its text, and its calls as JSON, each with what it is."""
    if not isinstance(message, dict):
        return
    if thought := message.get("reasoning_content") or message.get("reasoning"):
        yield " (reasoning)", _part_text(thought)
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [_part_text(part) for part in parts if part not in (None, "")]
    if texts:
        yield "", "\n\n".join(texts)
    if message.get("tool_calls"):
        yield "", _part_text(message["tool_calls"])


def _part_text(part: JSON) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part, dict) and isinstance(part.get("image_url"), dict):
        part = {**part, "image_url": {**part["image_url"], "url": _shown_url(part["image_url"].get("url"))}}
    return msgspec.json.encode(part).decode()


def _shown_url(url: JSON) -> JSON:
    """Cut the URL of an image that holds the image itself."""
    if not isinstance(url, str) or not url.startswith("data:") or len(url) <= MAX_DATA_URL:
        return url
    return f"{url[:MAX_DATA_URL]}… ({format.count(len(url))})"
