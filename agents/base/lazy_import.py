"""Functions that are imported when they are first called: what subjects register must not load all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from django.utils.module_loading import import_string


def lazy_import(function: str) -> Callable[..., Any]:
    """The function of this dotted name, imported when it is first called: commands start without it."""

    @cache
    def imported() -> Callable[..., Any]:
        target: Callable[..., Any] = import_string(function)
        return target

    def call(*args: Any, **kwargs: Any) -> Any:
        return imported()(*args, **kwargs)

    return call
