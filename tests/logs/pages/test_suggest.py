"""What the query bar completes: values, times and amounts as they are written, and paths into JSON from the data."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from tests.loop.test_loop import tool
from tests.support.builders import make_turn
from tests.support.pages.markup import elements

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def offered(client: Client, word: str) -> dict[str, str]:
    """The completions of a word, with what is said of them."""
    page = client.get("/logs/complete/", {"word": word, "level": "turn"}).content.decode()
    options = re.findall(r'data-insert="([^"]+)">\s*<code>[^<]*</code><span class="faint cut">([^<]*)<', page)
    return {unescape(text): unescape(said) for text, said in options}


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("started:", ("started:-15m", "last 15 minutes")),
        ("started:-2", ("started:-24h", "last 24 hours")),
        ("duration:", ("duration:>1s", "")),
        ("tokens.in:>", ("tokens.in:>1000", "")),
        ("cost:", ("cost:>0.01", "")),
    ],
)
def test_times_and_amounts_are_offered_as_they_are_written(client: Client, word: str, first: tuple[str, str]) -> None:
    assert next(iter(offered(client, word).items())) == first


def test_what_is_offered_can_be_asked(client: Client) -> None:
    for word in ("started:", "ended:", "duration:", "cost:", "tokens:", "ttft:"):
        for text in offered(client, word):
            assert client.get("/logs/", {"q": text}).status_code == 200, text


def test_paths_and_their_values_come_from_the_data(client: Client, me: Actor) -> None:
    hits = tool("web_search", content='{"order": {"state": "shipped", "<b>": 1}, "n": [1]}')
    for query in ("kettle", "kettle", "teapot"):
        script = f'call web_search {{"query": "{query}", "deep": {{"level": 2}}}}\nthen\nsay Found.'
        make_turn(me, script, server_tools=hits, metadata={"customer": {"tier": "gold"}, "a b": "no name"})
    assert offered(client, "args.") == {"args.query:": "kettle", "args.deep.level:": "2"}
    assert offered(client, "args.DEEP") == {"args.deep.level:": "2"}
    assert offered(client, "args.query:") == {"args.query:kettle": "2", "args.query:teapot": "1"}
    assert offered(client, "args.query:te") == {"args.query:teapot": "1"}
    assert offered(client, "result.") == {"result.order.state:": "shipped"}
    assert offered(client, "meta.") == {"meta.customer.tier:": "gold"}
    assert offered(client, "meta.customer.tier:") == {"meta.customer.tier:gold": "3"}
    assert offered(client, "nothing.") == {}
    assert offered(client, "args.:") == {}


@pytest.mark.parametrize("path", ["/logs/", "/steps/?q=type:tool", "/logs/?q=status:"])
@pytest.mark.parametrize("cookie", [{}, {"tz": "Europe/Berlin"}])
def test_the_bar_has_the_fields_on_the_first_page_too(
    client: Client, db: None, path: str, cookie: dict[str, str]
) -> None:
    """Also beside a query that is wrong, and before the browser has said that it runs scripts."""
    client.cookies.load(cookie)
    inserts = [option.get("data-insert") for option in elements(client.get(path).content.decode(), "li")]
    assert {"status:", "args.", "error.message:"} <= set(inserts)
