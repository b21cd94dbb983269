"""Render the admin's cells: links between records, times in UTC, formatted sums, bodies as text. Keys
appear only as public ids: JavaScript would round a number of 63 bits."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import msgspec
import zstandard
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from agents.base import ids
from agents.base.ids import Kind
from agents.base.store.encoding import PLAIN
from agents.base.timestamps import to_us
from agents.uikit import elements, format

NOTHING = format.NOTHING
MAX_BODY_CHARS = 50_000
"""Characters shown of a body; the product's pages have all of it."""
_TABLES = {
    Kind.AGENT: "agent",
    Kind.SESSION: "session",
    Kind.TURN: "turn",
    Kind.STEP: "step",
    Kind.RESPONSE: "response",
    Kind.ITEM: "item",
    Kind.KEY: "apikey",
    Kind.COMPLETION: "chatcompletion",
    Kind.TOOLGROUP: "toolgroup",
    Kind.SHIELD: "shield",
    Kind.MODEL: "registeredmodel",
    Kind.VECTOR_DB: "vectordb",
    Kind.VECTOR_DOCUMENT: "vectordocument",
    Kind.WEBHOOK_ENDPOINT: "webhookendpoint",
    Kind.AUTOMATION: "automation",
}


def record_url(kind: Kind, key: int) -> str:
    """The admin's page of a record."""
    return reverse(f"admin:agents_{_TABLES[kind]}_change", args=[ids.public(kind, key)])


def link(kind: Kind, key: int | None, text: str = "") -> str:
    """A link to a record, by its name or else its public id."""
    if key is None:
        return NOTHING
    try:
        url = record_url(kind, key)
    except NoReverseMatch:  # its subject is not installed
        return format_html("<bdi>{}</bdi>", text or ids.public(kind, key))
    return format_html('<a href="{}"><bdi>{}</bdi></a>', url, text or ids.public(kind, key))


def list_link(kind: Kind, text: str, **filters: str) -> str:
    """A link to a filtered list."""
    url = reverse(f"admin:agents_{_TABLES[kind]}_changelist")
    return format_html('<a href="{}?{}">{}</a>', url, urlencode(filters), text)


def timestamp(at: datetime | None) -> str:
    return NOTHING if at is None else f"{format.date_time(to_us(at))} UTC"


def duration(duration_us: int | None) -> str:
    return format.duration(None if duration_us is None else duration_us / 1000)


def money(cost_nano: int | None) -> str:
    """Billionths of a dollar; an unknown cost is not a cost of 0."""
    return format.cost(None if cost_nano is None else cost_nano / 1e9)


def tokens(record: Any) -> str:
    """The token sums of a turn, response or step; cached ones are part of the input, reasoning of the output."""
    parts = [
        f"{format.count(record.input_tokens)} in",
        f"{format.count(record.cached_tokens)} of them cached",
        f"{format.count(record.output_tokens)} out",
        f"{format.count(record.reasoning_tokens)} of them reasoning",
    ]
    return ", ".join(parts)


def state(name: str, label: str) -> str:
    """A state in the style of a turn's status."""
    return format_html('<span class="status" data-status="{}">{}{}</span>', name, elements.icon(name), label)


def attributes(groups: Mapping[str, Any]) -> str:
    """``roles: admin · teams: support sales``."""
    return " · ".join(f"{category}: {' '.join(values)}" for category, values in groups.items()) or NOTHING


def text_cell(text: str) -> str:
    """A text from outside, isolated because it may have either writing direction."""
    return format_html("<bdi>{}</bdi>", text) if text else NOTHING


# ------------------------------------------------------------------------------------------- bodies


def code(text: str, *, is_partial: bool = False) -> str:
    """A body, indented if it is JSON. Cut, with a note, if it is long; with ``is_partial`` it is cut already."""
    if not text:
        return NOTHING
    if len(text) <= MAX_BODY_CHARS and not is_partial:
        return format_html('<pre class="body">{}</pre>', _indent_json(text))
    cut = "The beginning; the turn's own page has all of it."
    return format_html('<p class="help">{}</p><pre class="body">{}</pre>', cut, text[:MAX_BODY_CHARS])


def json_body(value: Any) -> str:
    """A decoded JSON value as a body."""
    return code(msgspec.json.encode(value).decode()) if value else NOTHING


def collapsible(text: str) -> str:
    """A body that opens on a click."""
    return format_html("<details><summary>{}</summary>{}</details>", gettext("show"), code(text))


def _indent_json(text: str) -> str:
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        return text


def decode_beginning(encoding: int, stored: bytes | memoryview) -> str:
    """The beginning of a stored body: no more is decompressed than is shown."""
    limit = MAX_BODY_CHARS + 1
    if encoding == PLAIN:
        return bytes(stored[:limit]).decode(errors="replace")
    with zstandard.ZstdDecompressor().stream_reader(bytes(stored)) as reader:
        return reader.read(limit).decode(errors="replace")
