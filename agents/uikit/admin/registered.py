"""Base class of the admin of records that are registered under a name."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents.base.access import Actor
from agents.base.store.registered import Registry
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ManagedAdmin
from agents.uikit.admin.column_mixins import OwnershipColumns, TimestampColumns
from agents.uikit.admin.current_actor import actor_of

ACCESS = (_("Access"), {"fields": ("public_id", "owned_by", "scope_label", "created")})


class RegisteredAdmin(TimestampColumns, OwnershipColumns, ManagedAdmin):
    """Records that are used by their name, which cannot change."""

    registry: Registry
    prefetched = ("owner",)
    fixed = ("identifier",)
    list_display: tuple[str, ...] = ("title", "by_provider", "called_there", "owned_by", "created")
    search_help_text = _("A public id, or a part of the name, the provider or what it is called there.")
    more_fieldsets = (ACCESS,)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Fieldsets of the form; an existing record shows its name read-only."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets
        return tuple((head, {**parts, "fields": _with_title(parts["fields"])}) for head, parts in fieldsets)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return (*fields, "title") if obj else fields

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        condition = Q(identifier__icontains=text) | Q(provider__icontains=text) | Q(resource__icontains=text)
        return rows.filter(condition)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        if change:
            self.registry.revise(actor_of(request), obj.pk, form.registration)
        else:
            obj.pk = self.registry.add(actor_of(request), form.registration)

    def delete_record(self, actor: Actor, key: int) -> None:
        self.registry.drop(actor, key)

    @admin.display(description=_("name"))
    def title(self, record: Any) -> str:
        return cell_html.text_cell(record.identifier)

    @admin.display(description=_("provider"))
    def by_provider(self, record: Any) -> str:
        return cell_html.text_cell(record.provider)

    @admin.display(description=_("model there"))
    def called_there(self, record: Any) -> str:
        return cell_html.text_cell(record.resource)

    @admin.display(description=_("parameters"))
    def params_text(self, record: Any) -> str:
        return cell_html.json_body(record.params)


def _with_title(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("title" if name == "identifier" else name for name in fields)
