"""Numbers on pages, and what the API says of the lists that they lead to."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.test import Client

from agents.uikit import format
from tests.support.pages.markup import unsafe, words

_LINK = re.compile(r'<a [^>]*?href="([^"]+)"[^>]*>(.*?)</a>', re.DOTALL)
_LEVELS = {"/logs/": "turns", "/steps/": "steps", "/sessions/": "sessions"}


def get(client: Client, path: str) -> str:
    """A page, which must be there and hold nothing a strict policy refuses."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    text: str = answer.content.decode()
    assert unsafe(text) == []
    return text


def part(page: str, start: str, end: str) -> str:
    """The page from ``start`` up to before ``end``."""
    return page[page.index(start) : page.index(end, page.index(start))]


def said(html: str) -> str:
    """What is read in a piece of a page that may begin and end anywhere inside of it."""
    return " ".join(unescape(re.sub(r"<[^>]*>|^[^<>]*>", " ", html)).split())


def links(html: str) -> list[tuple[str, str]]:
    """(where a link leads, what it says) of each."""
    return [(unescape(href), words(inner)) for href, inner in _LINK.findall(html)]


def stats(client: Client, url: str) -> dict[str, Any]:
    """What the API counts for the query of a list's URL."""
    where = urlsplit(url)
    text = parse_qs(where.query).get("q", [""])[0]
    answer = client.get(f"/v1/logs/{_LEVELS[where.path]}/stats", {"q": text})
    assert answer.status_code == 200, answer.content
    data: dict[str, Any] = answer.json()["data"]
    return data


def check_figures(client: Client, page: str) -> int:
    """Every figure of a period, and of the one before, is that of the list it leads to; returns how many."""
    blocks = part(page, '<dl class="figures">', "</dl>").split("<div")[1:]
    for block in blocks:
        title = words(block[block.index("<dt>") : block.index("</dt>")])
        (here, text), *_, (before, was) = links(block)
        assert text == _told(title, stats(client, here)), title
        assert was.removeprefix("before: ") == _told(title, stats(client, before)), title
    return len(blocks)


def _told(title: str, data: dict[str, Any]) -> str:
    match title:
        case "turns" | "failed" | "steps" | "tool calls":
            return format.count(data["count"])
        case "p50" | "p95" | "p99":
            return format.duration(data["duration_ms"][title])
        case "tokens in":
            return format.count(data["tokens"]["input_tokens"])
        case "tokens out":
            return format.count(data["tokens"]["output_tokens"])
        case _:
            return format.cost(data["cost_usd"])


def check_table(client: Client, html: str) -> int:
    """Every number of a table of who and what is that of its list; returns how many."""
    checked = 0
    for row in html.split("<tr>")[1:]:
        cells = [found[0] for cell in row.split("<td")[1:] if (found := links(cell))]
        for place, (url, text) in enumerate(cells):
            data = stats(client, url)
            number = text.rsplit(" ", 2)[0] if text.endswith(" %") else text
            told = {
                format.count(data["count"]),
                format.duration(data["duration_ms"]["p95"]),
                format.cost(data["cost_usd"]),
            }
            assert number in told, (url, text)
            assert place > 0 or number == format.count(data["count"])
            checked += 1
    return checked
