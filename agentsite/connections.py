"""TCP connections that send a reply as soon as it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet import tcp


class EagerConnection(tcp.Server):
    """A connection whose replies go out at once and whole, as far as the socket accepts them: Twisted would first wait
    for a writable event, at two system calls and an iteration of the loop for each."""

    _is_held = False

    def send_together(self, write: Callable[[], object]) -> None:
        """Send what a call writes, all of it in one packet where that has room."""
        self._is_held = True
        try:
            write()
        finally:
            self._is_held = False
            self._send_written()

    @property
    def is_free(self) -> bool:
        """Whether all that was written is on its way, so that more may go at once."""
        return bool(self.connected) and not (self.dataBuffer or self._tempDataBuffer)

    def send_now(self, data: bytes) -> None:
        """Send data while the connection is free, as far as the socket accepts it, and the rest once it accepts
        more."""
        try:
            sent = self.socket.send(data)
        except OSError:  # it is full, or lost: Twisted detects that itself
            sent = 0
        if sent < len(data):
            self.write(data[sent:])  # type: ignore[no-untyped-call]  # untyped library

    def startWriting(self) -> None:
        if not self._is_held:
            super().startWriting()  # type: ignore[no-untyped-call]  # untyped library

    def _send_written(self) -> None:
        if not self.connected:
            return
        is_ending = self.disconnecting or self._writeDisconnecting
        if self._tempDataBuffer and not (self.dataBuffer or is_ending):
            # a lost connection Twisted detects itself, when it writes again
            is_lost = self.doWrite() is not None  # type: ignore[no-untyped-call]  # untyped library
            if not (is_lost or self.dataBuffer or self._tempDataBuffer):
                return
        if self.dataBuffer or self._tempDataBuffer or is_ending:
            super().startWriting()  # type: ignore[no-untyped-call]  # untyped library


def send_together(protocol: Any, write: Callable[[], object]) -> None:
    """Send what a call writes to the connection of a channel or socket, which may be gone, at once."""
    transport = getattr(protocol, "transport", None)
    if isinstance(transport, EagerConnection):
        transport.send_together(write)
    else:
        write()
