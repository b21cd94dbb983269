"""What stands in the admin's cells: links between records, moments in UTC, sums as people read
them, bodies as text. Keys are shown as public ids only: a number of 63 bits would be rounded by
the first script that reads it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import msgspec
import zstandard
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from agents.base import ids
from agents.base.ids import Kind
from agents.base.store.encoding import PLAIN
from agents.base.timestamps import to_us
from agents.uikit import elements, format

NOTHING = format.NOTHING
SHOWN = 50_000
"""Characters of a body; the product's pages have all of it."""
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
}


def record_url(kind: Kind, key: int) -> str:
    """The admin's page of a record."""
    return reverse(f"admin:agents_{_TABLES[kind]}_change", args=[ids.public(kind, key)])


def link(kind: Kind, key: int | None, text: str = "") -> str:
    """A link to a record, by its name or else its public id."""
    if key is None:
        return NOTHING
    return format_html('<a href="{}"><bdi>{}</bdi></a>', record_url(kind, key), text or ids.public(kind, key))


def listed(kind: Kind, text: str, **filters: str) -> str:
    """A link to a list, filtered."""
    url = reverse(f"admin:agents_{_TABLES[kind]}_changelist")
    return format_html('<a href="{}?{}">{}</a>', url, urlencode(filters), text)


def moment(at: datetime | None) -> str:
    return NOTHING if at is None else f"{format.moment(to_us(at))} UTC"


def took(duration_us: int | None) -> str:
    return format.duration(None if duration_us is None else duration_us / 1000)


def money(cost_nano: int | None) -> str:
    """Billionths of a dollar; an unknown cost is not a cost of 0."""
    return format.cost(None if cost_nano is None else cost_nano / 1e9)


def tokens(record: Any) -> str:
    """The four sums of a turn, leg or step, the second and third parts of the first two."""
    parts = [
        f"{format.count(record.input_tokens)} in",
        f"{format.count(record.cached_tokens)} of them cached",
        f"{format.count(record.output_tokens)} out",
        f"{format.count(record.reasoning_tokens)} of them reasoning",
    ]
    return ", ".join(parts)


def state(name: str, word: str) -> str:
    """A state that is no status of a turn, drawn like one."""
    return format_html('<span class="status" data-status="{}">{}{}</span>', name, elements.icon(name), word)


def attributes(found: Mapping[str, Any]) -> str:
    """``roles: admin · teams: support sales``."""
    return " · ".join(f"{category}: {' '.join(values)}" for category, values in found.items()) or NOTHING


def words(text: str) -> str:
    """Some of what was said, of either writing direction, by nobody one can trust."""
    return format_html("<bdi>{}</bdi>", text) if text else NOTHING


# ------------------------------------------------------------------------------------------- bodies


def code(text: str, *, begun: bool = False) -> str:
    """A body: indented if it is JSON, and cut with a word about it if it is long, or only ``begun``."""
    if not text:
        return NOTHING
    if len(text) <= SHOWN and not begun:
        return format_html('<pre class="body">{}</pre>', _indented(text))
    cut = "The beginning; the turn's own page has all of it."
    return format_html('<p class="help">{}</p><pre class="body">{}</pre>', cut, text[:SHOWN])


def plain(value: Any) -> str:
    """A decoded JSON value as a body."""
    return code(msgspec.json.encode(value).decode()) if value else NOTHING


def folded(text: str) -> str:
    """A body that is opened when wanted."""
    return format_html("<details><summary>{}</summary>{}</details>", gettext("show"), code(text))


def _indented(text: str) -> str:
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        return text


def unpacked(encoding: int, stored: bytes | memoryview) -> str:
    """The beginning of a body at rest: no more is unpacked than is shown."""
    limit = SHOWN + 1
    if encoding == PLAIN:
        return bytes(stored[:limit]).decode(errors="replace")
    with zstandard.ZstdDecompressor().stream_reader(bytes(stored)) as reader:
        return reader.read(limit).decode(errors="replace")
