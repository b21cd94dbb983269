"""What settings of the environment may say."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite import environment


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", ""),
        ("https://example.org", "https://example.org"),
        ("https://example.org/", "https://example.org"),
        ("http://[::1]:8080/a/b-c_d.e~f/", "http://[::1]:8080/a/b-c_d.e~f"),
    ],
)
def test_an_address_has_no_slash_at_its_end(raw: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_URL", raw)
    assert environment.http_url("PUBLIC_URL") == expected


@pytest.mark.parametrize(
    "raw",
    [
        "example.org",
        "ftp://example.org",
        "https://",
        "https://u:p@example.org",
        "https://example.org?x=y",
        "https://example.org/#x",
        "https://example.org//a",
        "https://example.org/ä",
        "https://example.org/a b",
        "https://example.org:0",
        "https://example.org:x",
        "https://[::1",
    ],
)
def test_what_is_no_plain_address_is_refused_by_name(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_URL", raw)
    with pytest.raises(ImproperlyConfigured, match="PUBLIC_URL="):
        environment.http_url("PUBLIC_URL")


def test_a_choice_is_one_of_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.choice("LOG_FORMAT", ("line", "json")) == "line"
    monkeypatch.setenv("LOG_FORMAT", "JSON")
    assert environment.choice("LOG_FORMAT", ("line", "json")) == "json"
    monkeypatch.setenv("LOG_FORMAT", "xml")
    with pytest.raises(ImproperlyConfigured, match="say line or json"):
        environment.choice("LOG_FORMAT", ("line", "json"))
