"""Reading everything there is to be reached from the lists, link by link: a visitor finds all of what it may
see and not a word of anybody else's.
"""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client

from agents.base.models.people import User
from agents.server.api.urls import routes
from agents.server.pages.urls import urlpatterns
from tests.access.asking import leaks
from tests.access.matrix import Chain, World, build
from tests.support.depth import deep
from tests.support.inprocess import told

pytestmark = pytest.mark.corpus

MOST = deep(60, 3000)
"""Addresses that one visitor reads."""
LEFT_OUT = ("/static/", "/logout", "/events", "/v1/openapi.json")


class Links(HTMLParser):
    """Whatever of a page's attributes is an address of ours; ``lead`` are those that lead to another page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "form" and ("method", "post") in attrs:
            return
        self.found += [value for _, value in attrs if value and value.startswith(("/", "?"))]


def starts() -> list[str]:
    """Lists: whatever the URL tables have that names nothing of anyone's."""
    pages = [f"/{pattern.pattern}" for pattern in urlpatterns]
    lists = [path for path, view in routes("/v1/") if "get" in view.actions]
    return [path for path in (*pages, *lists) if "<" not in path]


def links(path: str, response: Any, body: bytes) -> Iterator[str]:
    """Where an answer leads."""
    kind = response.headers.get("Content-Type", "")
    if "Location" in response.headers:
        yield urljoin(path, response.headers["Location"])
    if kind.startswith("text/html"):
        yield from (urljoin(path, target) for target in Links(body.decode()).found)
    elif kind == "application/json" and path.startswith("/v1/"):
        base = path.partition("?")[0]
        for name in itertools.islice(_names(json.loads(body)), 50):
            yield f"{base}/{name}"
        if b'"has_more":true' in body.replace(b" ", b""):
            yield f"{base}?limit=1000"


def _names(value: Any) -> Iterator[str]:
    """Ids inside an answer."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(inner, str) and (key == "id" or str(key).endswith("_id")) and inner.replace("-", "").isalnum():
            yield inner
        yield from _names(inner)


def crawl(client: Client, **headers: str) -> Iterator[tuple[str, bytes]]:
    """(address, all that was told), from the lists on."""
    seen, left = set(starts()), deque(starts())
    while left and len(seen) <= MOST + len(left):
        path = left.popleft()
        response = client.get(path, headers=headers)
        body = told(response)
        assert response.status_code < 500, path
        yield path, body
        for link in links(path, response, response.getvalue() if not response.streaming else b"{}"):
            target = urlsplit(link)._replace(scheme="", netloc="", fragment="").geturl()
            if target not in seen and not any(part in target for part in LEFT_OUT):
                seen.add(target)
                left.append(target)


@pytest.fixture
def rows(world: World) -> list[Chain]:
    """Of each team, a few more."""
    return [build(world.owner, f"red{number}") for number in range(2)]


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("comes", ["with a login", "with a key"])
@pytest.mark.parametrize("name", ["outsider", "reader"])
def test_a_visitor_who_reads_everything_reads_nothing_of_others(name: str, comes: str, world: World) -> None:
    who, client, headers = world.who[name], Client(raise_request_exception=False), {}
    if comes == "with a login":
        assert who.login is not None
        client.force_login(User.objects.get(pk=who.login))
    else:
        headers = who.headers
    read, own, wrong = 0, 0, {}
    for path, body in crawl(client, **headers):
        found = leaks(body, who, world, path)
        if found:
            wrong[path] = found
        read, own = read + 1, own + (world.red.canary.encode() in body)
    assert wrong == {}
    assert read >= 50
    assert (own > 5) == ("red" in who.sees), own
