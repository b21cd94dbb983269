"""Splits a stream of server-sent events: bytes cut anywhere in, the data of each event out.

This module does no I/O and decodes no text, so a cut inside a UTF-8 sequence or a line end does not
matter. It follows the WHATWG HTML standard, section 9.2.6 (line ends ``\\n``, ``\\r\\n`` and ``\\r``;
several ``data`` lines of one event joined by ``\\n``; comments and other fields skipped), with one
exception: an unterminated event at the end is returned too.
"""

from __future__ import annotations

MAX_EVENT_BYTES = 8 * 2**20

_DATA, _NEXT = b"data: ", b"\n\ndata: "
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """An event grew beyond `MAX_EVENT_BYTES` without coming to its end."""


class EventSplitter:
    """Splits bytes into events and buffers the bytes of an incomplete one."""

    __slots__ = ("_after_return", "_buffer", "_scanned")

    def __init__(self) -> None:
        self._buffer = bytearray()
        # No blank line begins before this offset: a huge event that arrives in small chunks is
        # searched once, not once per chunk.
        self._scanned = 0
        self._after_return = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the data of all events that ``data`` completes, in order. Raises EventTooLarge."""
        if self._after_return or b"\r" in data:
            data = self._with_plain_ends(data)
        buffer = self._buffer
        buffer += data
        end = buffer.rfind(b"\n\n", self._scanned)
        if end < 0:
            return self._wait_for_more()
        complete = bytes(buffer[:end])
        del buffer[: end + 2]
        self._scanned = max(len(buffer) - 1, 0)
        return _data_of_events(complete)

    def end(self) -> list[bytes]:
        """Return the data of an event that the stream ended in, if any."""
        unfinished = bytes(self._buffer)
        self._buffer.clear()
        return _data_of_events(unfinished)

    def _wait_for_more(self) -> list[bytes]:
        size = len(self._buffer)
        if size > MAX_EVENT_BYTES:
            raise EventTooLarge(f"an event of more than {MAX_EVENT_BYTES} bytes")
        self._scanned = max(size - 1, 0)
        return []

    def _with_plain_ends(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._after_return:
            data = data.removeprefix(b"\n")
        self._after_return = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _data_of_events(text: bytes) -> list[bytes]:
    if text.startswith(_DATA):
        payloads = text[len(_DATA) :].split(_NEXT)
        # nearly all events of a model endpoint are one such line: then no other line ends are left
        if text.count(b"\n") == 2 * (len(payloads) - 1):
            return payloads if all(payloads) else list(filter(None, payloads))
    return list(filter(None, map(_data_of_event, text.split(b"\n\n"))))


def _data_of_event(event: bytes) -> bytes:
    """Join the ``data`` lines of an event; empty for an event without any, which the standard drops too."""
    values = []
    for line in event.removeprefix(_BYTE_ORDER_MARK).split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            values.append(value.removeprefix(b" "))
    return b"\n".join(values)
