"""A text that arrives in very many small chunks, and takes little more memory than its characters."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

CHUNKS_PER_JOIN = 512
"""Chunks that are joined at a time."""


class ChunkedText:
    """Chunks in order: ``str()`` is the text, iterating gives them as they came. A list of them would take some
    sixty bytes per chunk; this takes its length, and the text is joined now and then."""

    __slots__ = ("_joined", "_lengths", "_pending", "size")

    def __init__(self) -> None:
        self.size = 0
        self._lengths = array("I")
        self._joined: list[str] = []
        self._pending: list[str] = []

    def append(self, chunk: str) -> None:
        self.size += len(chunk)
        self._lengths.append(len(chunk))
        self._pending.append(chunk)
        if len(self._pending) >= CHUNKS_PER_JOIN:
            self._join()

    def extend(self, chunks: Sequence[str]) -> None:
        """Append chunks in order."""
        lengths = array("I", map(len, chunks))
        self.size += sum(lengths)
        self._lengths += lengths
        self._pending += chunks
        if len(self._pending) >= CHUNKS_PER_JOIN:
            self._join()

    def _join(self) -> None:
        self._joined.append("".join(self._pending))
        self._pending.clear()
        if len(self._joined) >= CHUNKS_PER_JOIN:
            self._joined = ["".join(self._joined)]

    def __str__(self) -> str:
        if self._pending:
            self._join()
        if len(self._joined) > 1:
            self._joined = ["".join(self._joined)]
        return self._joined[0] if self._joined else ""

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[str]:
        text, offset = str(self), 0
        for length in self._lengths:
            yield text[offset : offset + length]
            offset += length
