"""Form fields of the admin: JSON, and a list with one text per line."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget
from django.utils.translation import gettext as _

from agents.base.schemas.wire import JSON

MAX_DEPTH = 64


_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class JsonField(forms.CharField):
    """JSON as text, validated as strictly as in the API: no NaN, no NUL, limited nesting. Empty is None."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("widget", AdminTextareaWidget(attrs={"rows": 5, "class": "vLargeTextField mono"}))
        super().__init__(required=False, **options)

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        if _NUL.search(text):
            raise forms.ValidationError(_("NUL characters cannot be stored."), code="nul")
        try:
            decoded = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise forms.ValidationError(_("This is not JSON: %(error)s") % {"error": error}, code="json") from error
        if not _within(decoded, MAX_DEPTH):
            raise forms.ValidationError(_("Nested deeper than %(depth)s levels.") % {"depth": MAX_DEPTH}, code="depth")
        return decoded

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(data) != initial)
        except forms.ValidationError:
            return True


def _within(value: JSON, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_within(item, levels - 1) for item in inner)


class LinesField(forms.CharField):
    """A list of names, one per line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, widget=AdminTextareaWidget(attrs={"rows": 2}), **options)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = (super().to_python(value) or "").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))
