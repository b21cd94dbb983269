"""Requests of a batch, as they are between its file and its rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A request: the ``number`` of its line from 1, and its ``body`` as JSON."""

    number: int
    custom_id: str
    body: bytes
    model: str
