"""Functions that are imported when they are first called: what subjects register must not load all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from django.utils.module_loading import import_string


class LazyFunction:
    """A function by its dotted name, imported when it is first called: commands start without it."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def imported(self) -> Callable[..., Any]:
        function: Callable[..., Any] = import_string(self._name)
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.imported(*args, **kwargs)


class LazyModule:
    """The functions of a module, each imported when it is first called: pages, on the thread of their first request."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, function: str) -> LazyFunction:
        return LazyFunction(f"{self._name}.{function}")
