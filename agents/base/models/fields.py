"""Column types: the time-ordered key, a timestamp in microseconds, and text that both databases take."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from agents.base import ids
from agents.base.timestamps import to_datetime, to_us

if TYPE_CHECKING:
    _KeyBase = models.BigIntegerField[int, int]
    _MomentBase = models.BigIntegerField[Any, Any]
else:  # generic in the stubs only
    _KeyBase = _MomentBase = models.BigIntegerField


class KeyField(_KeyBase):
    """A 63-bit time-ordered key (`agents.base.ids`). On SQLite its type must be exactly ``integer``:
    only then is it the rowid, and inserts, range scans and the search index need no second
    tree. References take the same type."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("default", ids.new_key)
        options["primary_key"] = True
        options["editable"] = False
        super().__init__(**options)

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "integer" if connection.vendor == "sqlite" else "bigint"

    def rel_db_type(self, connection: BaseDatabaseWrapper) -> str:
        return self.db_type(connection)


class MomentField(_MomentBase):
    """A timestamp: microseconds since 1970 in the table, an aware ``datetime`` in Python. Eight
    bytes on both databases, and compared without parsing."""

    # those of the base would compare a datetime with the bounds of an integer
    validators: Any = []
    _pyi_private_set_type: Any
    _pyi_private_get_type: Any
    _pyi_lookup_exact_type: Any

    def from_db_value(self, value: int | None, *_: object) -> datetime | None:
        return None if value is None else to_datetime(value)

    def to_python(self, value: Any) -> Any:
        if isinstance(value, int):
            return to_datetime(value)
        return value

    def get_prep_value(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return to_us(value)
        return super().get_prep_value(value)

    def formfield(self, **options: Any) -> Any:
        return models.DateTimeField.formfield(self, **options)


def storable(value: Any) -> Any:
    """Replace NUL characters of a text, which PostgreSQL cannot hold, by U+2400; return other values as they are."""
    return value.replace("\0", "\u2400") if isinstance(value, str) and "\0" in value else value


if TYPE_CHECKING:  # the plug-in finds the columns' types under these names
    ShortText, LongText = models.CharField, models.TextField
else:

    class ShortText(models.CharField):
        """A ``CharField`` of `storable` text: the output of tools, models and forms may hold anything."""

        def get_prep_value(self, value):
            return storable(super().get_prep_value(value))

    class LongText(models.TextField):
        """A ``TextField`` of `storable` text."""

        def get_prep_value(self, value):
            return storable(super().get_prep_value(value))
