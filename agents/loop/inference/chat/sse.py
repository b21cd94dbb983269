"""Server-sent events, the bytes: a stream cut anywhere in, the data of each event out.

Only splitting happens here. What the data means, when to stop, and where the bytes come from is
none of this module's business; it does no I/O and decodes no text, so a cut inside a UTF-8
sequence or a line end cannot matter. Follows the WHATWG HTML standard, section 9.2.6 (line ends
``\\n``, ``\\r\\n`` and ``\\r``; several ``data`` lines of one event joined by ``\\n``; comments and
other fields skipped), with one leniency: what stands unterminated at the end is handed out.
"""

from __future__ import annotations

MAX_EVENT_BYTES = 8 * 2**20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """An event grew beyond `MAX_EVENT_BYTES` without coming to its end."""


class EventSplitter:
    """Holds the bytes that do not make a whole event yet."""

    __slots__ = ("_after_return", "_buffer", "_scanned")

    def __init__(self) -> None:
        self._buffer = bytearray()
        # Everything before this place is known to hold no blank line: a huge event that drips in
        # is searched once, not once per drop.
        self._scanned = 0
        self._after_return = False

    def feed(self, data: bytes) -> list[bytes]:
        """The data of all events that ``data`` completes, in order. Raises EventTooLarge."""
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
        """The data of an event that the stream ended in, if any."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return _data_of_events(rest)

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
    found = []
    for event in text.split(b"\n\n"):
        # Nearly every event of a model endpoint is this one line.
        plain = event.startswith(b"data: ") and b"\n" not in event
        data = event[6:] if plain else _data_of_event(event)
        if data:
            found.append(data)
    return found


def _data_of_event(event: bytes) -> bytes:
    """The joined ``data`` lines; empty for an event without any, which the standard drops too."""
    values = []
    for line in event.removeprefix(_BYTE_ORDER_MARK).split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            values.append(value.removeprefix(b" "))
    return b"\n".join(values)
