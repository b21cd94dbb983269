"""Splits the events of an answer that is passed through unchanged, and checks only its size and errors."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agents.loop.inference.chat.endpoint_errors import EndpointErrors, ReportedError
from agents.loop.inference.chat.sse import EventSplitter, EventTooLarge

_DONE = b"[DONE]"
BYTES_PER_CHAR = 64
"""A token of four letters comes in an event of a few hundred bytes."""


class _Error(msgspec.Struct):
    error: msgspec.Raw = msgspec.Raw()


_read_error = msgspec.json.Decoder(_Error).decode


class PayloadStream:
    """One answer. ``started`` is set by the first event, ``done`` when nothing more is to be read."""

    def __init__(self, faults: EndpointErrors, output_chars: int) -> None:
        self._faults = faults
        self._splitter = EventSplitter()
        self._remaining_bytes = output_chars * BYTES_PER_CHAR
        self.started = self.done = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the events that ``data`` completes. Exhaust the iterator before the next call. Raises
        ProviderError."""
        self._remaining_bytes -= len(data)
        if self._remaining_bytes < 0:
            raise self._faults.too_large("an answer without end")
        try:
            payloads = self._splitter.feed(data)
        except EventTooLarge as error:
            raise self._faults.too_large(str(error)) from None
        yield from self._checked_payloads(payloads)

    def end(self) -> Iterator[bytes]:
        """Yield the events that were still buffered after the last byte."""
        if not self.done:
            yield from self._checked_payloads(self._splitter.end())
        if not (self.done or self.started):
            raise self._faults.cut("the stream ended without an event")

    def _checked_payloads(self, payloads: list[bytes]) -> Iterator[bytes]:
        for payload in payloads:
            if payload == _DONE:
                self.done = True
                return
            self._check(payload)
            self.started = True
            yield payload

    def _check(self, payload: bytes) -> None:
        """Raise ProviderError for an event that is no JSON object, or that reports an error."""
        try:
            error = bytes(_read_error(payload).error)
        except (ValueError, RecursionError) as cause:
            quoted = self._faults.quote(payload[:2_000].decode(errors="replace"))
            raise self._faults.error(f"sent an event that cannot be read ({cause}): {quoted}") from None
        if error not in (b"", b"null"):
            raise self._faults.reported(ReportedError.read(payload))
