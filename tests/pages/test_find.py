"""Searching inside a turn's page: which steps, which hit, what is marked."""

from __future__ import annotations

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.pages import turn_search
from agents.uikit.highlight import Phrase
from tests.loop.test_loop import tool
from tests.support.builders import Recorded, make_turn
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import cards, get


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def looked(me: Actor, rounds: int = 3) -> Recorded:
    script = "\n".join(f'say Look **{n}**\ncall lookup {{"query": "kettle {n}"}}\nthen' for n in range(rounds))
    return make_turn(me, f"{script}\nsay A pan.", server_tools=tool(), max_infer_iters=1_000)


def hits(page: str) -> list[str]:
    return [
        link["href"] for link in elements(page, "a") if link.get("data-key") in {"n", "N"} and "hit=" in link["href"]
    ]


def test_it_says_how_many_steps_hold_the_words(client: Client, me: Actor) -> None:
    made = looked(me)
    assert "in 1 step" in words(get(client, made, "?find=pan"))
    assert "1 of 6 steps" in words(get(client, made, "?find=kettle"))
    assert "in no step" in words(get(client, made, "?find=teapot"))
    assert "Type a word to search for." in words(get(client, made, "?find=%22-%22"))


def test_it_goes_from_hit_to_hit_and_around(client: Client, me: Actor) -> None:
    made = looked(me)
    first, last = get(client, made, "?find=kettle"), get(client, made, "?find=kettle&hit=6")
    assert hits(first) == ["?find=kettle&hit=6#step-5", "?find=kettle&hit=2#step-1"]
    assert hits(last) == ["?find=kettle&hit=5#step-4", "?find=kettle&hit=1#step-0"]
    assert "6 of 6 steps" in words(last)


def test_it_opens_the_page_of_the_hit(client: Client, me: Actor) -> None:
    page = get(client, looked(me, 150), "?find=pan")
    assert [cards(page)[0]["id"], cards(page)[-1]["id"]] == ["step-200", "step-300"]


def test_it_unfolds_a_long_question_that_has_the_words(client: Client, me: Actor) -> None:
    made = make_turn(me, "say ok\n" + "\n".join(f"# line {number}" for number in range(40)) + "\n# kettle")
    assert '<details class="rest">' in get(client, made)
    assert '<details open class="rest">' in get(client, made, "?find=kettle")


def test_it_marks_the_words_in_what_is_shown(client: Client, me: Actor) -> None:
    page = get(client, looked(me), "?find=look")
    assert "<mark>Look</mark> <strong>0</strong>" in page
    assert unsafe(page) == []


@pytest.mark.parametrize("query", ["?find=" + "a" * 5_000, "?find=%00", "?find=x&hit=-1", "?find=x&hit=99999999999"])
def test_odd_searches_are_harmless(client: Client, me: Actor, query: str) -> None:
    assert cards(get(client, make_turn(me), query))


# -------------------------------------------------------------------------------------------- marks


KETTLE = (Phrase(("kettle",), True),)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a kettle &amp; kettles</p>", "<p>a <mark>kettle</mark> &amp; <mark>kettles</mark></p>"),
        ('<a title="kettle > x">pan</a>', '<a title="kettle > x">pan</a>'),
        ("<textarea>kettle</textarea>kettle", "<textarea>kettle</textarea><mark>kettle</mark>"),
        ("<svg><title>kettle</title></svg>", "<svg><title>kettle</title></svg>"),
        ("&lt;b&gt;kettle", "&lt;b&gt;<mark>kettle</mark>"),
        ("kett<b>le</b>", "kett<b>le</b>"),
        ("<details><p>kettle</p></details>", "<details open><p><mark>kettle</mark></p></details>"),
        ("<details>pan</details><p>kettle</p>", "<details>pan</details><p><mark>kettle</mark></p>"),
    ],
)
def test_marks_stand_in_text_only(html: str, expected: str) -> None:
    assert turn_search.mark_matches(html, KETTLE) == expected


def test_quoted_words_are_a_phrase_and_others_may_be_begun() -> None:
    assert [(each.text, each.prefix) for each in turn_search.parse_phrases('"blue kettle" pan "- " "')] == [
        ("blue kettle", False),
        ("pan", True),
    ]
