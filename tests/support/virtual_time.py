"""An event loop whose clock stands still while something can be done, and jumps to the next timer where nothing can: a
minute of waiting takes no time, and the same program always takes the same way."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class _JumpingSelector(selectors.SelectSelector):
    """Waits for nothing: instead the clock goes on by as long as it would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, Any]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits for something that does not come"
            self.now += max(timeout, 0)
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """The loop. Nothing on it may wait for a thread or a socket."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now
