"""Functions that are imported when they are first called: what subjects register must not load all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from django.utils.module_loading import import_string


def later(function: str) -> Callable[..., Any]:
    """The function of this dotted name, imported when it is first called: commands start without it."""

    @cache
    def found() -> Callable[..., Any]:
        imported: Callable[..., Any] = import_string(function)
        return imported

    def call(*given: Any, **named: Any) -> Any:
        return found()(*given, **named)

    return call
