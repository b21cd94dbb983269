"""Values of a record's fields on its admin page, from the catalogue: those that the page has no cell of its own for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import ForeignKey
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents.query.tree import Level
from agents.record.catalogue import CATALOGUE, RecordField
from agents.uikit import format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import RecordAdmin


class CatalogueAdmin(RecordAdmin):
    """Adds a fieldset with every field of the ``level`` that has a column, but for those in ``shown``, which the page
    shows in its own way."""

    level: Level
    shown: str

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        more = tuple(_cells(self.level, self.shown.split()))
        own = super().get_fieldsets(request, obj)
        return (*own, (_("Further values"), {"fields": more})) if more else own


def _cells(level: Level, shown: list[str]) -> Iterator[Callable[[Any], str]]:
    for entry in CATALOGUE.values():
        if level in entry.levels and level in entry.columns and entry.name not in shown:
            yield _cell(entry, entry.columns[level])


def _cell(entry: RecordField, column: str) -> Callable[[Any], str]:
    """Return the admin's column of a field, as a function of the record."""

    @admin.display(description=entry.name)
    def cell(record: Any) -> str:
        return _text(entry, record, column)

    cell.__name__ = f"value_of_{column}"
    return cell


def _text(entry: RecordField, record: Any, column: str) -> str:
    stored = record._meta.get_field(column)
    if isinstance(stored, ForeignKey):
        return cell_html.text_cell(str(getattr(record, stored.name) or ""))
    if stored.choices:
        return str(getattr(record, f"get_{column}_display")())
    value = getattr(record, column)
    match entry.unit or entry.kind:
        case "time":
            return cell_html.timestamp(value)
        case "us":
            return cell_html.duration(value)
        case "nano_usd":
            return cell_html.money(value)
        case "count":
            return format.integer(value)
        case _:
            return cell_html.text_cell("" if value is None else str(value))
