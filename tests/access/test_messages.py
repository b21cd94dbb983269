"""Anthropic's clients at the door: where their key is, and what they are told without one."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base.access import ACTIONS, Actor
from agents.base.store import keys
from tests.access.matrix import make_key, make_user
from tests.support.inprocess import body_of, inline_service

MESSAGE = {"model": "scripted/fast", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}
VERSION = {"anthropic-version": "2023-06-01"}


@pytest.fixture
def owner(_database: None, settings: Any) -> Iterator[Actor]:
    settings.REQUIRE_LOGIN = True
    logging.getLogger("django.request").setLevel(logging.CRITICAL)  # some are refused, as they should be
    with inline_service():
        yield make_user("owner")
    logging.getLogger("django.request").setLevel(logging.NOTSET)


def ask(method: str, path: str, **headers: str) -> tuple[int, Any]:
    data = json.dumps(MESSAGE) if method == "POST" else ""
    response = Client().generic(method, path, data, "application/json", headers={**headers})
    return response.status_code, json.loads(body_of(response))


ROUTES = [("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models")]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_the_key_is_in_either_header(owner: Actor, method: str, path: str) -> None:
    secret = make_key(owner, "a key", frozenset(ACTIONS))[1]
    for headers in (
        {"x-api-key": secret},
        {"Authorization": f"Bearer {secret}"},
        {"Authorization": f"Bearer {secret}", "x-api-key": "another"},
        {"Authorization": "Basic eDp4", "x-api-key": secret},
    ):
        assert ask(method, path, **VERSION, **headers)[0] == 200, headers


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_without_a_valid_one_they_are_told_in_their_words(owner: Actor, method: str, path: str) -> None:
    for headers in (
        {},
        {"x-api-key": "none"},
        {"x-api-key": f"{keys.PREFIX}nobodys"},
        {"Authorization": "Bearer none"},
    ):
        status, body = ask(method, path, **VERSION, **headers)
        assert (status, body["type"], body["error"]["type"]) == (401, "error", "authentication_error"), headers
        assert {*body["error"]} == {"type", "message"}


def test_elsewhere_that_header_says_nothing(owner: Actor) -> None:
    secret = make_key(owner, "a key", frozenset(ACTIONS))[1]
    for path in ("/v1/models", "/v1/agents", "/v1/chat/completions"):
        status, body = ask("GET", path, **{"x-api-key": secret})
        assert (status, body["error"]["code"]) == (401, "missing_api_key")
    assert ask("GET", "/v1/agents", **VERSION, **{"x-api-key": secret})[0] == 401


def test_a_page_of_another_site_is_told_in_the_same_form(owner: Actor) -> None:
    status, body = ask("POST", "/v1/messages", Origin="https://elsewhere.example")
    assert (status, body["type"], body["error"]["type"]) == (403, "error", "permission_error")
