"""The documentation of the API: all of it, offline, without JavaScript."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from django.test import Client

from agents.server.api.openapi import description
from agents.server.pages import docs
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def text(client: Client) -> str:
    answer = client.get("/docs/")
    assert answer.status_code == 200
    page: str = answer.content.decode()
    assert unsafe(page) == []
    return page


def operations() -> list[tuple[str, str]]:
    paths = msgspec.json.decode(description())["paths"]
    return [(method.upper(), path) for path, item in paths.items() for method in item]


def test_every_operation_is_there(text: str) -> None:
    found = re.findall(r'class="route"><b[^>]*>(\w+)</b> <code>([^<]+)</code>', text)
    assert sorted(found) == sorted(operations())


def test_every_type_is_there_once(text: str) -> None:
    schemas = msgspec.json.decode(description())["components"]["schemas"]
    found = [each["id"] for each in elements(text, "article") if each["id"].startswith("type-")]
    assert len(found) == len(set(found)) == len(schemas)


def test_every_link_on_the_page_leads_somewhere(text: str) -> None:
    named = {each["id"] for each in elements(text) if "id" in each}
    leads = {each["href"][1:] for each in elements(text, "a") if each.get("href", "").startswith("#")}
    assert leads <= named
    assert len(leads) > 60


def test_ids_are_unique(text: str) -> None:
    found = [each["id"] for each in elements(text) if "id" in each]
    assert len(found) == len(set(found))


def test_a_turn_is_explained(text: str) -> None:
    read = words(text)
    assert "messages array of UserMessage or ToolResponseMessage required" in read
    assert "text/event-stream" in read
    assert 'curl "$API/v1/agents/$agent_id/session/$session_id/turn"' in read


def test_it_tells_where_the_server_is(text: str) -> None:
    assert "API=http://testserver KEY=none" in words(text)


def test_it_tells_when_a_key_is_needed(client: Client, admin: Any, settings: Any) -> None:
    from agents.base.models.people import User

    settings.REQUIRE_LOGIN = True
    assert client.get("/docs/").headers["Location"] == "/login/?next=/docs/"
    client.force_login(User.objects.get(username="root"))
    assert "KEY=ask_…" in words(client.get("/docs/").content.decode())


def test_it_is_rendered_once(text: str, client: Client) -> None:
    """A page of 200 kB comes from the cache."""
    before = docs.rendered.cache_info().misses
    client.get("/docs/")
    assert docs.rendered.cache_info().misses == before


def test_a_description_is_hostile_text_too() -> None:
    hostile = "</code><script>alert(1)</script>``x``"
    raw = {
        "info": {"title": hostile, "version": hostile},
        "paths": {
            f"/{hostile}": {"get": {"operationId": hostile, "tags": [hostile], "description": hostile, "responses": {}}}
        },
        "components": {"schemas": {hostile: {"description": hostile, "properties": {hostile: {"default": hostile}}}}},
    }
    assert unsafe(docs.rendered(msgspec.json.encode(raw), "en")) == []
