"""The fetcher: what it reads, and where it never goes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agents.base.errors import InvalidRequest
from agents.knowledge.providers.memory.fetcher import Fetcher
from agents.knowledge.providers.memory.texts import Raw
from tests.support.live.web_pages import Pages, serving

HOME = Fetcher(allow_private=True, total_s=5.0)


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    with serving() as pages:
        yield pages


def fetch(url: str, fetcher: Fetcher = HOME) -> Raw:
    return asyncio.run(fetcher.fetch(url, "documents.3"))


def refusal(url: str, fetcher: Fetcher = HOME) -> str:
    with pytest.raises(InvalidRequest) as raised:
        fetch(url, fetcher)
    assert (raised.value.code, raised.value.param) == ("document_unavailable", "documents")
    assert raised.value.message.startswith("documents.3: ")
    return raised.value.message


def test_a_page_is_fetched_with_nothing_of_ours(pages: Pages) -> None:
    pages.put("/a", b"Kettle", "text/plain; charset=latin-1")
    raw = fetch(f"{pages.base}/a")

    assert (raw.data, raw.mime_type, raw.charset) == (b"Kettle", "text/plain", "latin-1")
    assert not {"cookie", "authorization", "referer"} & set(pages.headers[-1])


def test_a_type_that_says_nothing_is_told_by_the_name(pages: Pages) -> None:
    pages.put("/notes.md", b"# Tea", "application/octet-stream")

    assert fetch(f"{pages.base}/notes.md").mime_type == "text/markdown"


def test_redirects_are_followed_five_times(pages: Pages) -> None:
    pages.put("/0", b"There", "text/plain")
    for number in range(1, 7):
        pages.put(f"/{number}", b"", location=f"/{number - 1}")

    assert fetch(f"{pages.base}/5").data == b"There"
    assert "redirected more than 5 times" in refusal(f"{pages.base}/6")


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "http://169.254.169.254/", "http://[fe80::1]/", "gopher://x/", "http://u:p@h/"]
)
def test_a_redirect_is_checked_as_a_url_is(location: str, pages: Pages) -> None:
    pages.put("/out", b"", location=location)

    assert "refused" in refusal(f"{pages.base}/out")


def test_this_machine_is_not_asked_unless_allowed(pages: Pages) -> None:
    asked = len(pages.asked)
    for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1"):
        refusal(f"http://{host}:{pages.port}/a", Fetcher(total_s=5.0))

    assert len(pages.asked) == asked


def test_other_ports_are_for_those_at_home() -> None:
    assert "port 22" in refusal("http://93.184.215.14:22/", Fetcher(total_s=5.0))


def test_what_is_too_large_is_left(pages: Pages) -> None:
    small = replace(HOME, max_bytes=2**20)
    pages.put("/said", b"x", "text/plain", Content_Length=str(2**21))
    pages.put("/unsaid", b"x" * (2**20 + 1), "text/plain")

    assert "larger than 1 MiB" in refusal(f"{pages.base}/said", small)
    assert "larger than 1 MiB" in refusal(f"{pages.base}/unsaid", small)


@pytest.mark.parametrize(
    ("kind", "headers", "words"),
    [
        ("application/zip", {}, "application/zip"),
        ("image/png", {}, "image/png"),
        ("text/plain", {"Content_Encoding": "gzip"}, "compressed"),
    ],
)
def test_what_is_not_wanted_is_left(kind: str, headers: dict[str, str], words: str, pages: Pages) -> None:
    pages.put("/wrong", b"x", kind, **headers)

    assert words in refusal(f"{pages.base}/wrong")


def test_a_server_that_is_silent_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes calls, and never picks up
        words = refusal(f"http://127.0.0.1:{server.getsockname()[1]}/", replace(HOME, total_s=0.2))

    assert "longer than 0.2 s" in words


def test_a_server_that_is_not_there() -> None:
    refusal("http://127.0.0.1:1/")
