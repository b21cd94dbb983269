"""What lies behind the page of a turn: other views, whole values, hostile ones, strangers, and many steps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.pages import turns
from agents.record.schemas.content import ImageData, ImageItem, TextItem, ToolDef, Url, UserMessage
from agents.record.schemas.events import StepStarted
from agents.record.store import read_turns
from tests.loop.play import events
from tests.loop.test_loop import tool
from tests.support.builders import Recorded, make_agent, make_session, make_turn
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import cards, get, url_of

pytestmark = pytest.mark.django_db

LOOK = 'think Hm.\nsay Let me **look**.\ncall lookup {"query": "kettle"}\nthen\nsay It is `blue`.'
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e{{ 7*7 }}"


@pytest.fixture
def me(db: None) -> Actor:
    """The local user, as whom pages act where no login is asked for."""
    return keys.local()


# ------------------------------------------------------------------------------------- other views


def test_it_draws_the_steps_to_scale(client: Client, me: Actor) -> None:
    page = get(client, make_turn(me, LOOK, server_tools=tool()), "?view=timeline")
    assert len(elements(page, "rect")) == 1 + 3
    assert "Inference scripted/fast" in words(page)
    assert cards(page) == []


def test_it_shows_everything_raw(client: Client, me: Actor) -> None:
    made = make_turn(me, LOOK, server_tools=tool())
    page = get(client, made, "?view=raw")
    read = words(page)
    for event in events(made.entries):
        assert f"{event.seq} {event.type}" in read
    assert "deltas" in read
    assert unsafe(page) == []


def test_the_raw_files_hold_all_of_it(client: Client, me: Actor) -> None:
    made = make_turn(me, LOOK, server_tools=tool())
    turn = json.loads(get(client, f"{url_of(made)}turn.json"))
    assert [step["step_type"] for step in turn["steps"]] == ["inference", "tool_execution", "inference"]
    lines = [json.loads(line) for line in get(client, f"{url_of(made)}events.jsonl").splitlines()]
    assert len(lines) == len(made.entries)
    assert [line["seq"] for line in lines if "seq" in line] == [event.seq for event in events(made.entries)]


def test_an_unknown_view_is_the_reader(client: Client, me: Actor) -> None:
    assert cards(get(client, make_turn(me), "?view=nonsense&from=-3"))


# -------------------------------------------------------------------------------------- large values


def value_links(page: str) -> list[str]:
    return [link["href"] for link in elements(page, "a") if "value/?part=" in link.get("href", "")]


def test_it_shows_the_beginning_of_what_is_large_and_a_way_to_all_of_it(client: Client, me: Actor) -> None:
    large = json.dumps({"query": "<b>" * 100_000})
    page = get(client, make_turn(me, f"call lookup {large}\nthen\nsay ok", server_tools=tool()))
    assert len(page) < 600_000
    assert "300 KB, show all" in words(page)
    part = next(link for link in value_links(page) if "arguments" in link)
    answer = client.get(part)
    assert answer.content.decode() == large
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]
    assert "Content-Disposition" not in answer


def test_it_does_so_for_what_was_asked_too(client: Client, me: Actor) -> None:
    made = make_turn(me, input_messages=[UserMessage(content="why? " * 10_000, context="see " * 10_000)])
    found = value_links(get(client, made))
    assert [client.get(link).content.decode() for link in found] == ["why? " * 10_000, "see " * 10_000]


@pytest.mark.parametrize(
    "path", ["value/?part=input-9", "value/", "steps/nonsense/value/", "steps/{step}/value/?part=no"]
)
def test_a_part_that_is_not_there_is_not_found(client: Client, me: Actor, path: str) -> None:
    made = make_turn(me)
    step = next(event for event in events(made.entries) if isinstance(event, StepStarted)).step
    assert client.get(url_of(made) + path.format(step=ids.public(ids.Kind.STEP, step))).status_code == 404


def test_a_step_of_another_turn_is_not_found(client: Client, me: Actor) -> None:
    made, other = make_turn(me), make_turn(me)
    step = next(event for event in events(other.entries) if isinstance(event, StepStarted)).step
    assert client.get(f"{url_of(made)}steps/{ids.public(ids.Kind.STEP, step)}/value/").status_code == 404


# ------------------------------------------------------------------------------------------ hostile


def test_nothing_hostile_becomes_markup(client: Client, me: Actor) -> None:
    agent = make_agent(me, name=HOSTILE, model=f"scripted/fast{HOSTILE}"[:300])
    tools = {"lookup": tool()["lookup"]}
    script = f"think {HOSTILE}\nsay {HOSTILE}\ncall lookup {json.dumps({HOSTILE: HOSTILE})}\nthen\nfail 500 {HOSTILE}"
    made = make_turn(me, script, agent=agent, session=make_session(me, agent, HOSTILE), server_tools=tools)
    for view in turns.VIEWS:
        page = get(client, made, f"?view={view}")
        assert unsafe(page) == []
        assert "{{ 7*7 }}" in page


def test_a_hostile_call_waits_harmlessly(client: Client, me: Actor) -> None:
    named = ToolDef(name=HOSTILE)
    call = json.dumps({"a": HOSTILE})
    made = make_turn(me, "", client_tools=[named], input_messages=[UserMessage(content=f"!script\ncall x {call}")])
    assert unsafe(get(client, made)) == []


def test_images_that_came_along_are_shown_and_others_only_named(client: Client, me: Actor) -> None:
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    items = [
        TextItem(text="look"),
        ImageItem(image=ImageData(data=dot)),
        ImageItem(image=ImageData(url=Url(uri="https://elsewhere.example/x.png"))),
        ImageItem(image=ImageData(url=Url(uri="javascript:alert(1)"))),
        ImageItem(image=ImageData(data="PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+")),
    ]
    page = get(client, make_turn(me, input_messages=[UserMessage(content=items)]))
    assert [image["src"][:22] for image in elements(page, "img")] == ["data:image/png;base64,"]
    assert unsafe(page) == []
    assert "https://elsewhere.example/x.png" in words(page)


# -------------------------------------------------------------------------------------------- access


@pytest.mark.parametrize("path", ["", "parts/", "turn.json", "events.jsonl", "value/?part=input-0"])
def test_another_users_turn_is_not_found(client: Client, make_user: Any, path: str) -> None:
    owner, stranger = make_user("owner"), make_user("stranger")
    made = make_turn(owner)
    client.force_login(_user(stranger))
    assert client.get(url_of(made) + path).status_code == 404


def _user(actor: Actor) -> Any:
    from agents.base.models.people import User

    return User.objects.get(pk=actor.user_id or 0)


@pytest.mark.parametrize("turn_id", ["nonsense", "01bace13-4d1d-8431-a998-131e705821df", "%00"])
def test_an_unknown_turn_is_not_found(client: Client, me: Actor, turn_id: str) -> None:
    assert client.get(f"/turns/{turn_id}/").status_code == 404


# --------------------------------------------------------------------------------------------- many


def many_steps(count: int) -> str:
    rounds = [f'say Step **{n}** of it\ncall lookup {{"query": "kettle {n}"}}\nthen' for n in range(count // 2)]
    return "\n".join([*rounds, "say Done."])


MANY: dict[str, Any] = {"server_tools": tool(), "max_infer_iters": 1_000, "cuts": range(0, 30_000, 500)}


def run_of(me: Actor, count: int) -> Recorded:
    return make_turn(me, many_steps(count), **MANY)


def test_it_shows_a_long_turn_in_pages(client: Client, me: Actor) -> None:
    made = run_of(me, 410)
    first, last = get(client, made), get(client, made, "?from=400")
    assert [cards(first)[0]["id"], cards(first)[-1]["id"]] == ["step-0", "step-199"]
    assert [cards(last)[0]["id"], cards(last)[-1]["id"]] == ["step-400", "step-410"]
    assert {link["href"] for link in elements(first, "a") if link.get("rel") == "next"} == {"?from=200"}
    assert {link["href"] for link in elements(last, "a") if link.get("rel") == "prev"} == {"?from=200"}


def test_it_leads_to_a_failure_on_a_later_page(client: Client, me: Actor) -> None:
    failing = many_steps(300).replace("say Done.", "fail 500 gone")
    made = make_turn(me, failing, **MANY)
    assert f"{url_of(made)}?from=200#step-300" in [link.get("href") for link in elements(get(client, made), "a")]


def test_it_asks_the_store_a_fixed_number_of_times(
    client: Client, me: Actor, django_assert_max_num_queries: Any
) -> None:
    short, long = make_turn(me), run_of(me, 60)
    get(client, short)
    most = 34 if connection.vendor == "sqlite" else 38  # where the feed stands is asked in three
    for made in (short, long):
        with django_assert_max_num_queries(most):
            get(client, made)


def test_a_turn_of_many_steps_says_which_took_longest(client: Client, me: Actor) -> None:
    page = get(client, run_of(me, 10))
    part = page.partition("Where the time went")[2].partition("</ol>")[0]
    assert part.count("<li ") == 5
    assert "Where the cost went" not in page, "its model has no price"
    assert "Where the time went" not in get(client, run_of(me, 300)), "they are not all on the page"


def test_markdown_of_a_page_is_bounded_and_the_last_answers_come_first(me: Actor) -> None:
    made = make_turn(
        me,
        input_messages=[
            UserMessage(content="!script\n" + f"say {'a' * 30_000}\ncall lookup {{}}\nthen\n" * 6 + "say end")
        ],
        server_tools=tool(),
        max_infer_iters=50,
    )
    steps = read_turns.turn(me, made.turn).steps
    chosen = turns.rendered_steps(steps)
    spoke = [step.key for step in steps if step.type == "inference"]
    assert chosen == set(spoke[-len(chosen) :])
    assert 1 < len(chosen) < len(spoke)
