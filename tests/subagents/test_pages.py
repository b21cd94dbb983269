"""Turns of sub-agents on pages: below the steps that called them, with the way back, and marked in lists."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from agents.base import ids
from agents.base.timestamps import to_datetime
from agents.record.models.agent_calls import AgentCall
from agents.record.models.prices import Price
from agents.record.models.turns import Turn
from tests.subagents.calling import Stage, call, children


@pytest.fixture
def tree(stage: Stage) -> tuple[int, int, int, int]:
    """A turn, the one it called, and the two that this called."""
    Price.objects.create(model="*", starts_at=to_datetime(0), input_nano=1000, output_nano=2000)
    stage.agent("<b>low")
    stage.agent("mid", "<b>low")
    chief = stage.agent("Chief", "mid")
    lows = call("b_low", "say Low."), call("b_low", "fail 500 gone")
    top = stage.say(chief, call("mid", *lows, "then", "say Mid."), "then", "say Top.")
    [mid] = children(top)
    first, second = children(mid.turn_id)
    return top, mid.turn_id, first.turn_id, second.turn_id


def url(turn: int) -> str:
    return f"/turns/{ids.public(ids.Kind.TURN, turn)}/"


def page(path: str) -> str:
    answer = Client().get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def links(text: str) -> list[str]:
    return re.findall(r'<a[^>]* href="([^"]+)"', text)


def called_part(text: str) -> str:
    return text.partition('data-part="called-')[2].partition("</article>")[0]


def test_a_step_shows_what_it_has_called_and_that_what_it_called(tree: tuple[int, int, int, int]) -> None:
    top, *below = tree
    shown = called_part(page(url(top)))
    assert [link for link in links(shown) if link.startswith("/turns/")][:3] == [url(key) for key in below]
    assert "2 more calls" in shown
    assert "<details>" in shown
    assert "&lt;b&gt;low" in shown
    assert "failed" in shown.partition("2 more calls")[2]


def test_a_turn_shows_its_own_sums_and_those_with_sub_agents(tree: tuple[int, int, int, int]) -> None:
    tokens = dict(Turn.all_objects.values_list("pk", "input_tokens"))
    out = dict(Turn.all_objects.values_list("pk", "output_tokens"))
    own, all_of_them = tokens[tree[0]] + out[tree[0]], sum(tokens.values()) + sum(out.values())
    facts = page(url(tree[0])).partition('data-part="facts"')[2].partition("</dl>")[0]
    assert f"{own} <small" in facts
    assert f"{all_of_them} with sub-agents" in facts
    assert facts.count("with sub-agents") == 2
    assert "with sub-agents" not in page(url(tree[2])).partition('data-part="facts"')[2].partition("</dl>")[0]


def test_a_called_turn_and_its_session_lead_back(tree: tuple[int, int, int, int]) -> None:
    top, mid, *_ = tree
    session = ids.public(ids.Kind.SESSION, Turn.all_objects.get(pk=mid).session_id)
    for path in (url(mid), f"/sessions/{session}/"):
        shown = page(path)
        assert "Called as a sub-agent by" in shown
        assert f"{url(top)}#step-1" in links(shown)
    assert "Called as a sub-agent" not in page(url(top))


def test_what_called_a_turn_may_be_gone(tree: tuple[int, int, int, int]) -> None:
    AgentCall.all_objects.filter(pk=tree[1]).update(parent=None)
    assert "by a turn that was deleted, or that you may not see" in page(url(tree[1]))
    assert page(url(tree[0]))


def test_the_parts_of_a_running_page_have_what_was_called(tree: tuple[int, int, int, int]) -> None:
    shown = called_part(page(f"{url(tree[0])}parts/"))
    assert url(tree[1]) in links(shown)


def test_lists_say_what_a_sub_agent_did(tree: tuple[int, int, int, int]) -> None:
    for path, rows in (("/logs/", 4), ("/logs/?level=session", 4)):
        shown = page(path)
        assert len(re.findall(r'<tr class="log-row', shown)) == rows
        assert shown.count("sub-agent · ") == 3
    for query, count in ((f"caller:{ids.public(ids.Kind.TURN, tree[1])}", 2), ("-is:subagent", 1)):
        assert len(re.findall(r'<tr class="log-row', page(f"/logs/?q={query}"))) == count


def test_a_turn_that_called_nothing_asks_for_no_tree(stage: Stage) -> None:
    plain = stage.say(stage.agent("plain"), "say Hi.")
    assert "called-" not in page(url(plain)).partition('class="turn-main"')[2].partition("<aside")[0]


def test_what_is_said_after_a_hand_over_has_the_name_of_who_says_it(stage: Stage) -> None:
    stage.agent("<b>desk")
    front = stage.agent("front", {"agent": "<b>desk", "hand_over": True})
    turn = stage.say(front, "say One moment.", "call transfer_to_b_desk {}", "then", "say On its way.")
    text = page(url(turn))
    speakers = re.findall(r'<p class="speaker" dir="auto"[^>]*>([^<]*)<', text)
    assert speakers[-2:] == ["front", "&lt;b&gt;desk"]
    assert "<b>desk" not in text
