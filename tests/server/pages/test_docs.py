"""The documentation of the API: a page of ours with a library in it, which comes from this server."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base.models.people import User
from tests.support.pages.markup import elements, unsafe, words

pytestmark = pytest.mark.django_db


def text(client: Client) -> str:
    answer = client.get("/docs/api/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_is_one_of_our_pages(client: Client) -> None:
    page = text(client)
    assert unsafe(page) == []
    assert [each["href"] for each in elements(page, "a") if each.get("aria-current")] == ["/docs/"]
    assert "On this machine no key is needed." in words(page)


def test_without_scripts_it_leads_to_the_description(client: Client) -> None:
    [note] = text(client).split("<noscript>")[1:]
    assert 'href="/v1/openapi.json"' in note.partition("</noscript>")[0]


@pytest.mark.parametrize(
    ("name", "kind"), [("swagger-ui-bundle.js", "text/javascript"), ("swagger-ui.css", "text/css")]
)
def test_the_library_comes_from_this_server(client: Client, name: str, kind: str) -> None:
    url = f"/static/swagger-ui/{name}"
    assert f'"{url}"' in text(client)
    answer = client.get(url)
    assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (200, kind)
    assert answer.content


def test_it_tells_when_a_key_is_needed(client: Client, admin: Any, settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    assert client.get("/docs/api/").headers["Location"] == "/login/?next=/docs/api/"
    client.force_login(User.objects.get(username="root"))
    page = text(client)
    assert "authorize with a key" in words(page)
    assert "/keys/" in [each["href"] for each in elements(page, "a") if "href" in each]
