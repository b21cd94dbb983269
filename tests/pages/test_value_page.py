"""The page of one value: by ranges, as a tree, searched; all of it as a stream."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.pages import downloads
from agents.pages.blocks import NamedText
from agents.pages.value_page import PAGE_BYTES, text_range
from agents.record.schemas.content import ImageData, ImageItem, TextItem
from tests.record.store.test_large_values import made_with
from tests.support.builders import Recorded
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import get

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "".join(f"line {n} – of <b>many</b>\n" for n in range(60_000))


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def link(client: Client, made: Recorded, kind: str) -> str:
    found = [
        each["href"] for each in elements(get(client, made), "a") if f"/{kind}/?part=result" in each.get("href", "")
    ]
    return found[0]


def content(answer: Any) -> bytes:
    async def read() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    return asyncio.run(read()) if answer.streaming else answer.content


def test_the_card_shows_the_beginning_and_the_size(client: Client, me: Actor) -> None:
    page = get(client, made_with(me, LONG))
    assert "line 0 – of <b>many</b>" in words(page)
    assert f"{len(LONG.encode()) / 1e6:.1f} MB, show all" in words(page)
    assert len(page) < 60_000


def test_all_of_it_comes_as_a_stream(client: Client, me: Actor) -> None:
    answer = client.get(link(client, made_with(me, LONG), "value"))
    assert answer.streaming
    assert answer["Content-Length"] == str(len(LONG.encode()))
    assert content(answer).decode() == LONG
    assert "sandbox" in answer["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [("bytes=10-19", 10, 20), ("bytes=1400000-", 1_400_000, None), ("bytes=5-99999999", 5, None)],
)
def test_a_range_of_it_is_answered(client: Client, me: Actor, asked: str, start: int, end: int | None) -> None:
    whole_text = LONG.encode()
    answer = client.get(link(client, made_with(me, LONG), "value"), headers={"Range": asked})
    assert answer.status_code == 206
    assert content(answer) == whole_text[start:end]
    assert answer["Content-Range"] == f"bytes {start}-{(end or len(whole_text)) - 1}/{len(whole_text)}"


@pytest.mark.parametrize("asked", ["bytes=-5", "bytes=9999999999-", "bytes=9-3", "lines=1-2", "bytes=0-1,4-5"])
def test_any_other_range_is_answered_with_the_whole(client: Client, me: Actor, asked: str) -> None:
    answer = client.get(link(client, made_with(me, LONG), "value"), headers={"Range": asked})
    assert answer.status_code == 200
    assert len(content(answer)) == len(LONG.encode())


def test_it_is_read_part_by_part(client: Client, me: Actor) -> None:
    first = get(client, link(client, made_with(me, LONG), "read"))
    behind = [each["href"] for each in elements(first, "a") if each.get("rel") == "next"]
    second = get(client, behind[0])
    assert "line 0 – of <b>many</b>" in words(first)
    assert "line 3000 – of <b>many</b>" in words(second)
    assert max(len(first), len(second)) < 3 * PAGE_BYTES
    assert unsafe(first) == unsafe(second) == []


def test_the_ranges_leave_nothing_out() -> None:
    text = "aé✓😀" * 20_000
    source, at, read = downloads.byte_source(NamedText("x", text)), 0, ""
    while at < source.size:
        piece = text_range(source, {"at": str(at), "find": ""})
        read += str(piece.html)
        at = piece.next_start if piece.next_start is not None else source.size
    assert read == text


def test_it_is_searched(client: Client, me: Actor) -> None:
    url = link(client, made_with(me, LONG), "read")
    page = get(client, url + "&find=LINE+59999")
    assert "<mark>line 59999</mark>" in page
    assert "not found from here on" in words(get(client, url + "&find=teapot"))


def test_json_is_a_tree(client: Client, me: Actor) -> None:
    rows = json.dumps([{"order": n, "name": "<i>x</i>" * 9} for n in range(9_000)])
    url = link(client, made_with(me, rows), "read")
    page = get(client, url)
    assert "1 to 200 of 9000" in words(page)
    assert unsafe(page) == []
    inside = get(client, url + "&path=8999&only=part")
    assert "8999" in words(inside)
    assert "<html" not in inside
    assert json.loads(client.get(url + "&path=8999&only=value").content) == {"order": 8999, "name": "<i>x</i>" * 9}
    assert "order" in words(get(client, url + "&as=text"))


def test_a_large_image_has_a_url_of_its_own(client: Client, me: Actor) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + b"\0" * 90_000
    data = base64.b64encode(picture).decode()
    page = get(client, made_with(me, [TextItem(text="see"), ImageItem(image=ImageData(data=data))]))
    [source] = [image["src"] for image in elements(page, "img")]
    answer = client.get(source)
    assert (answer["Content-Type"], answer.content) == ("image/png", picture)
    assert client.get(source.replace("picture-0", "picture-7")).status_code == 404


@pytest.mark.parametrize(
    "more", ["&at=-1", "&at=x", "&path=x", "&path=99999", "&first=abc", "&only=nothing", "&at=99999999999"]
)
def test_odd_questions_are_answered(client: Client, me: Actor, more: str) -> None:
    get(client, link(client, made_with(me, json.dumps(["x" * 100] * 2_000)), "read") + more)
