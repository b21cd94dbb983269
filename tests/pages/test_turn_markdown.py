"""A turn as Markdown, which another model is given to read."""

from __future__ import annotations

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.pages import turn_markdown
from tests.loop.test_loop import tool
from tests.support.builders import make_agent, make_turn
from tests.support.pages.turn_page import get, url_of

LOOK = 'think Hm.\nsay Let me **look**.\ncall lookup {"query": "kettle"}\nthen\nsay It is `blue`.'


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def test_it_has_all_that_happened_in_order(client: Client, me: Actor) -> None:
    made = make_turn(me, LOOK, agent=make_agent(me, name="support"), server_tools=tool())
    answer = client.get(f"{url_of(made)}turn.md")
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    text = answer.content.decode()
    parts = [
        f"# Turn {made.public_id}",
        "- agent: support",
        "- status: completed",
        f"- page: http://testserver{url_of(made)}",
        "## user",
        "## 1. support (",
        "> Hm.",
        "Let me **look**.",
        "Calls `lookup`.",
        "## 2. tool execution: lookup (completed",
        "```\n{",
        "## 3. support (",
        "It is `blue`.",
    ]
    place = 0
    for part in parts:
        place = text.index(part, place)


def test_the_page_leads_to_it(client: Client, me: Actor) -> None:
    made = make_turn(me)
    page = get(client, made)
    assert f'href="{url_of(made)}turn.md"' in page
    assert f"http://testserver{url_of(made)}</code>" in page


def test_a_tool_cannot_end_its_block() -> None:
    assert turn_markdown.fenced("a\n```\n# b").splitlines() == ["````", "a", "```", "# b", "````"]


def test_a_long_text_is_cut_and_says_so() -> None:
    assert turn_markdown.fenced("x" * 9_000).endswith("\n[cut: 9000 characters in all]\n```")


@pytest.mark.usefixtures("me")
def test_a_turn_that_is_not_there_is_a_404(client: Client) -> None:
    assert client.get("/turns/01c00000-0000-8000-8000-000000000000/turn.md").status_code == 404
