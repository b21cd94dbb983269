"""Files of one JSON object a line, read as far as they can be: a broken line is told and skipped.

The last line may be half written, for the file may still be growing: it is left for the next time, without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agents.telemetry.reading.decoding import Decoded, FormatError, as_object
from agents.telemetry.reading.json_text import parse_json
from agents.telemetry.reading.sanitize import clean_json
from agents.telemetry.reading.spans import Span

MAX_REPORTED = 5
"""Broken lines that are told one by one."""


class JsonLines:
    """The objects of a file, made harmless, or ``raw`` for a decoder that does that. ``ignored`` is for their reader
    to count up: lines that are fine and of no use."""

    def __init__(self, lines: Iterable[bytes | str], *, raw: bool = False) -> None:
        self._lines = lines
        self._raw = raw
        self._broken: list[str] = []
        self.rejected = 0
        self.ignored = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        doubt = ""
        for number, line in enumerate(self._lines, 1):
            if not line.strip():
                continue
            self._reject(doubt)
            try:
                value = as_object(parse_json(line))
            except FormatError as wrong:
                doubt = f"line {number}: {wrong.reason}"
                continue
            doubt = ""
            yield value if self._raw else clean_json(value)

    def reject(self, reason: str) -> None:
        """Say that something which could be read makes no sense."""
        self._reject(reason)

    def _reject(self, reason: str) -> None:
        if not reason:
            return
        self.rejected += 1
        if len(self._broken) < MAX_REPORTED:
            self._broken.append(reason)

    def decoded(self, spans: Iterable[Span]) -> Decoded:
        """What was made of the file."""
        more = self.rejected - len(self._broken)
        rest = [f"and {more} more."] if more else []
        return Decoded(list(spans), self.rejected, " ".join([*self._broken, *rest]), self.ignored)
