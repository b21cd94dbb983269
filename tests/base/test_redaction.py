"""What is struck out of foreign words, and what is left as it is."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from agents.base import redaction
from agents.base.redaction import (
    REDACTED,
    redact,
    redact_error,
    redact_json,
    redacted_url,
    secrets_in_headers,
    secrets_in_url,
)
from agentsite import known_secrets


@pytest.fixture(autouse=True)
def _known_again() -> Iterator[None]:
    yield
    redaction.configure(known_secrets.of_settings())


def test_known_secrets_are_struck_the_longest_first() -> None:
    redaction.configure(["secret-1234", "secret-1234-and-more"])
    assert redact("a secret-1234-and-more b secret-1234 c") == f"a {REDACTED} b {REDACTED} c"
    assert redact("x", ["also-1234"]) == "x"
    assert redact("an also-1234 and a secret-1234", ["also-1234"]) == f"an {REDACTED} and a {REDACTED}"


@pytest.mark.parametrize("word", ["", "none", "ollama", "EMPTY", "postgres", "changeme", "sk-1234"])
def test_words_that_are_no_secrets_are_left(word: str) -> None:
    redaction.configure([word])
    assert redact(f"the {word} said") == f"the {word} said"


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcDEF0123456789abcDEF",
        "sk-ant-api03-abcdefghijklmnopqrst",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "sk-abcd****************wxyz",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    ],
)
def test_what_looks_like_a_key_is_struck_out_of_errors_only(key: str) -> None:
    assert redact_error(f"Incorrect: {key}, sorry") == f"Incorrect: {REDACTED}, sorry"
    assert redact(f"Incorrect: {key}") == f"Incorrect: {key}"


def test_words_are_no_keys() -> None:
    for text in ("sk-learn is a library", "the task-management-system-of-ours failed", "pk_1", "hf.co/x", "eyJ"):
        assert redact_error(text) == text


def test_objects_are_struck_to_their_leaves() -> None:
    given = {"secret-1234": ["a secret-1234", 1, None, {"x": "secret-1234"}]}
    assert redact_json(given, ["secret-1234"]) == {"secret-1234": [f"a {REDACTED}", 1, None, {"x": REDACTED}]}


def test_secrets_are_found_in_headers() -> None:
    basic = b64encode(b"rita:pass-word-1").decode()
    found = set(secrets_in_headers({"Authorization": f"Basic {basic}", "X-Key": "k-12345678"}))
    assert found == {f"Basic {basic}", basic, "rita:pass-word-1", "pass-word-1", "k-12345678"}
    assert "t0ken-12345" in set(secrets_in_headers({"Authorization": "Bearer t0ken-12345"}))


@pytest.mark.parametrize(
    ("url", "shown", "secrets"),
    [
        ("https://h/mcp", "https://h/mcp", set()),
        ("https://h/mcp?team=a&page=2", "https://h/mcp?team=a&page=2", set()),
        ("https://h/mcp?api_key=abc%2F1&a=b", f"https://h/mcp?api_key={REDACTED}&a=b", {"abc%2F1", "abc/1"}),
        ("https://h/?tavilyApiKey=k1", f"https://h/?tavilyApiKey={REDACTED}", {"k1"}),
        ("https://h/?X-Amz-Signature=k1", f"https://h/?X-Amz-Signature={REDACTED}", {"k1"}),
        ("https://h/?access_token=k1&sig=k2", f"https://h/?access_token={REDACTED}&sig={REDACTED}", {"k1", "k2"}),
        ("https://h/?monkeys=3&design=x", "https://h/?monkeys=3&design=x", set()),
        ("https://rita:pw%21@h:1/x", f"https://rita:{REDACTED}@h:1/x", {"pw%21", "pw!"}),
        ("https://token@h/x", f"https://{REDACTED}@h/x", set()),
        ("https://[bad", REDACTED, set()),
    ],
)
def test_addresses_are_shown_without_what_lets_in(url: str, shown: str, secrets: set[str]) -> None:
    assert redacted_url(url) == shown
    assert set(secrets_in_url(url)) == secrets


def test_all_secrets_of_the_settings_are_known(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever settings may hold one, it is struck."""
    settings.OPENAI_API_KEY = "openai-1234"
    settings.OPENAI_BASE_URL = "https://x/?key=openai-url-1"
    settings.BRAVE_SEARCH_API_KEY, settings.TAVILY_SEARCH_API_KEY = "brave-1234", "tavily-1234"
    settings.MODEL_ENDPOINTS = {"a": {"base_url": "http://u:endpoint-pw-1@h/v1", "api_key": "endpoint-1"}}
    settings.MCP_SERVERS = {
        "a": {"url": "https://h/?token=mcp-url-1", "headers": {"Authorization": "Bearer mcp-header-1"}},
        "b": {"command": ["x"]},
    }
    settings.AUTH_PROVIDER = {"type": "introspection", "client_secret": "client-secret-1", "url": "https://h/"}
    settings.METRICS_TOKEN = "metrics-token-1"
    settings.OTLP_EXPORT_ENDPOINT = "https://u:otlp-url-1@h"
    settings.OTLP_EXPORT_HEADERS = "authorization=Bearer%20otlp-header-1,x=y"
    settings.SECRET_KEY, settings.ID_SECRET = "django-secret-1", "id-secret-1"
    monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", "db-password-1")
    redaction.configure(known_secrets.of_settings())
    named = (
        "openai-1234 openai-url-1 brave-1234 tavily-1234 endpoint-pw-1 endpoint-1 mcp-url-1 mcp-header-1"
        " client-secret-1 otlp-url-1 otlp-header-1 metrics-token-1 django-secret-1 id-secret-1 db-password-1"
    )
    assert set(redact(named).split()) == {REDACTED}
