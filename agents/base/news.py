"""Word within a process that there may be something to do at once."""

from __future__ import annotations

from collections.abc import Callable


class News:
    """Whoever in this process wants to know that there may be something to do at once."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener``, from any thread, at each `tell`; returns the function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self) -> None:
        for listener in list(self._listeners):
            listener()
