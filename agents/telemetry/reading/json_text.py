"""Lenient JSON parser: it accepts halves of surrogate pairs and NaN, which some senders write and strict parsers
refuse."""

from __future__ import annotations

import json

import msgspec

from agents.telemetry.reading.decoding import FormatError

_decode = msgspec.json.Decoder().decode


def parse_json(data: object) -> object:
    """Parse text or bytes. Raises `FormatError`."""
    if not isinstance(data, (bytes, str)):
        raise FormatError("text is expected.")
    try:
        return _decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _parse_leniently(data)


def _parse_leniently(data: bytes | str) -> object:
    try:
        return json.loads(data)
    except RecursionError as error:
        raise FormatError("this JSON is nested too deeply.") from error
    except ValueError as error:
        raise FormatError("this is no JSON.") from error
