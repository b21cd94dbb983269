"""Reader of files with one JSON object a line: a broken line is reported and skipped.

The last line may be half written, because the file may still be growing: it is skipped without a report.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agents.telemetry.reading.decoding import Decoded, FormatError, as_object
from agents.telemetry.reading.json_text import parse_json
from agents.telemetry.reading.sanitize import clean_json
from agents.telemetry.reading.spans import Span

MAX_REPORTED = 5
"""Broken lines that are reported one by one."""


class JsonLines:
    """The objects of a file, cleaned, or ``raw`` for a decoder that sanitizes them itself. ``ignored`` is for the
    reader to count up: lines that are valid and of no use; ``number`` is that of the current line."""

    def __init__(self, lines: Iterable[bytes | str], *, raw: bool = False) -> None:
        self._lines = lines
        self._raw = raw
        self._reasons: list[str] = []
        self.number = 0
        self.rejected = 0
        self.ignored = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        pending_problem = ""
        for number, line in enumerate(self._lines, 1):
            self.number = number
            if not line.strip():
                continue
            self._reject(pending_problem)
            try:
                value = as_object(parse_json(line))
            except FormatError as error:
                pending_problem = f"line {number}: {error.reason}"
                continue
            pending_problem = ""
            yield value if self._raw else clean_json(value)

    def has_object(self, name: str, line: dict[str, Any]) -> bool:
        """Tell whether this field of the current line is an object, as it has to be; report the line if it is not."""
        try:
            as_object(line.get(name))
        except FormatError as error:
            self._reject(f"line {self.number}: {name}: {error.reason}")
            return False
        return True

    def reject(self, reason: str) -> None:
        """Report an object that could be parsed and makes no sense."""
        self._reject(reason)

    def _reject(self, reason: str) -> None:
        if not reason:
            return
        self.rejected += 1
        if len(self._reasons) < MAX_REPORTED:
            self._reasons.append(reason)

    def decoded(self, spans: Iterable[Span]) -> Decoded:
        """Return the spans with the counts and reasons of the rejected lines."""
        omitted = self.rejected - len(self._reasons)
        suffix = [f"and {omitted} more."] if omitted else []
        return Decoded(list(spans), self.rejected, " ".join([*self._reasons, *suffix]), self.ignored)
