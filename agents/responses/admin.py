"""The admin of prompts: those that the reader sees, with their versions. They are made and changed by the API."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents.base import ids
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.responses.models import Prompt, PromptVersion
from agents.responses.store import prompts
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import StoreAdmin
from agents.uikit.admin.column_mixins import OwnershipColumns, TimestampColumns

MAX_SHOWN = 20
"""Versions that the page of a prompt shows, the newest."""


@admin.register(Prompt)
class PromptAdmin(TimestampColumns, OwnershipColumns, StoreAdmin):
    kind = Kind.PROMPT
    id_columns = {Kind.PROMPT: "pk"}
    delete_action = "manage"
    prefetched = ("owner",)
    list_display = ("title", "default_version", "last_version", "owned_by", "created")
    search_help_text = _("A part of the text.")
    fieldsets = (
        (None, {"fields": ("title", "default_version", "last_version", "newest_versions")}),
        (_("Access"), {"fields": ("public_id", "owned_by", "scope_label", "created")}),
    )

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return rows.filter(pk__in=PromptVersion.objects.filter(text__icontains=text).values("prompt_id"))

    def delete_record(self, actor: Actor, key: int) -> None:
        prompts.delete(actor, ids.openai(Kind.PROMPT, key))

    @admin.display(description=_("prompt"))
    def title(self, prompt: Prompt) -> str:
        return cell_html.text_cell(ids.openai(Kind.PROMPT, prompt.pk))

    @admin.display(description=_("versions"))
    def newest_versions(self, prompt: Prompt) -> str:
        newest = PromptVersion.objects.filter(prompt_id=prompt.pk).order_by("-version")[:MAX_SHOWN]
        return cell_html.json_body({str(one.version): one.text for one in newest})
