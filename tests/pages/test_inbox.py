"""The inbox: what waits for a person, oldest first, answered from its row."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.pages import inbox, turn_actions
from agents.record.schemas.content import ToolCall
from agents.record.store import turns, waiting
from agents.record.store.agents import AgentRecord
from tests.access.matrix import make_user
from tests.support.builders import make_agent, make_turn
from tests.support.doubtful_turns import make_doubtful
from tests.support.live.caller import script
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.turn_page import get

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("inline_turns")]

TOOLS = [
    {"name": name, "parameters": [{"name": "order", "parameter_type": "str", "description": "order"}]}
    for name in ("approve_refund", "ask_user")
]


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def agent_of(actor: Actor, name: str = "") -> AgentRecord:
    return make_agent(actor, client_tools=TOOLS, **({"name": name} if name else {}))


def ask(actor: Actor, agent: AgentRecord, *calls: str) -> str:
    """A turn that waits for the answers to these calls; its public id."""
    return turn_actions.try_agent(actor, agent.key, script(*calls, "then", "say Done."))[0]


def shown(page: str) -> list[str]:
    return [each["data-waits"] for each in elements(page, "article") if "data-waits" in each]


def badge(page: str) -> str:
    found = re.search(r'data-part="waiting-count">([^<]*)<', page)
    assert found is not None
    return found[1]


def status_of(turn: str) -> str:
    state = turns.state(turns.key_of(turn))
    assert state is not None
    return state[0].label


def test_an_empty_inbox_teaches(client: Client, me: Actor) -> None:
    make_turn(me)
    page = get(client, "/inbox/")
    assert "Nothing is waiting for you" in words(page)
    assert badge(page) == ""
    assert unsafe(page) == []
    links = {each.get("href"): each.get("aria-current") for each in elements(page, "a")}
    assert links["/inbox/"] == "page"


def test_what_waits_stands_there_the_oldest_first(client: Client, me: Actor) -> None:
    agent = agent_of(me)
    first = ask(me, agent, 'call approve_refund {"order": "7"}')
    doubtful = make_doubtful(me)
    last = ask(me, agent, 'call ask_user {"order": "8"}', 'call approve_refund {"order": "9"}')
    page = get(client, "/inbox/")
    assert unsafe(page) == []
    assert shown(page) == [first, doubtful.made.public_id, last]
    assert badge(page) == badge(get(client, "/logs/")) == "3"
    forms = {each["id"]: each["action"] for each in elements(page, "form") if "id" in each}
    assert forms[f"answer-{first}"] == f"/turns/{first}/answer/"
    assert forms[f"decide-{doubtful.made.public_id}"] == f"{doubtful.url}decide/"
    used = {each["form"] for each in elements(page) if "form" in each}
    assert used == {f"answer-{first}", f"decide-{doubtful.made.public_id}", f"answer-{last}"}
    names = [each["id"] for each in elements(page) if "id" in each]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("decision", ["approve", "refuse"])
def test_a_call_is_answered_from_its_row(client: Client, me: Actor, decision: str) -> None:
    agent = agent_of(me, "support")
    turn, other = (ask(me, agent, 'call approve_refund {"order": "7"}') for _ in range(2))
    [call] = [ToolCall.model_validate_json(each.call) for each in turns.pending_calls(turns.key_of(turn))]
    at = f"tool=approve_refund&agent={agent.public_id}"
    page = get(client, f"/inbox/?{at}")
    [back, _] = [each["value"] for each in elements(page, "input") if each.get("name") == "inbox"]
    form = {f"decision:{call.call_id}": decision, "inbox": back}
    answer = client.post(f"/turns/{turn}/answer/", form)
    assert answer.status_code == 302
    assert answer["location"] == f"/inbox/?agent={agent.public_id}&tool=approve_refund"
    assert status_of(turn) == "completed"
    left = get(client, answer["location"])
    assert (shown(left), badge(left)) == ([other], "1")
    assert f"{'approved' if decision == 'approve' else 'refused'} by local" in words(get(client, f"/turns/{turn}/"))


def test_a_doubt_is_decided_from_its_row(client: Client, me: Actor) -> None:
    doubtful = make_doubtful(me)
    form = {f"outcome:{doubtful.step_ids[0]}": "done", "inbox": "//evil.example"}
    answer = client.post(f"{doubtful.url}decide/", form)
    assert (answer.status_code, answer["location"]) == (302, "/inbox/")
    assert shown(get(client, "/inbox/")) == []


def test_it_is_filtered_by_agent_and_tool(client: Client, me: Actor) -> None:
    one, two = agent_of(me, "one"), agent_of(me, "two")
    refund, asked = ask(me, one, "call approve_refund {}"), ask(me, two, "call ask_user {}")
    assert shown(get(client, "/inbox/?tool=ask_user")) == [asked]
    assert shown(get(client, f"/inbox/?agent={one.public_id}")) == [refund]
    nothing = get(client, f"/inbox/?agent={one.public_id}&tool=ask_user")
    assert "No call of this kind is waiting" in words(nothing)
    chosen = [each for each in elements(nothing, "option") if "selected" in each]
    assert len(chosen) == 2
    assert shown(get(client, "/inbox/?agent=x&after=y")) == [refund, asked]


def test_it_is_paged_by_key(client: Client, me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "PAGE_SIZE", 2)
    agent = agent_of(me)
    made = [ask(me, agent, "call ask_user {}") for _ in range(3)]
    first = get(client, "/inbox/")
    assert shown(first) == made[:2]
    [following] = [each["href"] for each in elements(first, "a") if each.get("rel") == "next"]
    second = get(client, following.replace("&amp;", "&"))
    assert shown(second) == made[2:]
    assert [each["href"] for each in elements(second, "a") if each.get("rel") == "prev"] == ["/inbox/"]


def test_others_see_only_what_is_theirs(client: Client, me: Actor) -> None:
    ask(me, agent_of(me), "call ask_user {}")
    rita = make_user("rita", teams=["red"])
    turn = ask(rita, agent_of(rita), "call ask_user {}")
    reader = make_user("reader", teams=["red"], roles=["reader"])
    client.force_login(User.objects.get(username=reader.name))
    page = get(client, "/inbox/")
    assert (shown(page), badge(page)) == ([turn], "1")
    assert "data-can-run" not in page
    assert "answer-" + turn not in {each.get("id") for each in elements(page, "form")}
    client.force_login(User.objects.get(username=make_user("blue", teams=["blue"]).name))
    assert (shown(get(client, "/inbox/")), badge(get(client, "/inbox/"))) == ([], "")


def test_the_count_stops(client: Client, me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_of(me)
    turn = ask(me, agent, "call ask_user {}")
    assert waiting.count_waiting(me) == 1
    for count, told in ((99, "99"), (100, "99+")):
        monkeypatch.setattr("agents.uikit.navigation._count_waiting", lambda actor, count=count: count)
        assert badge(get(client, f"/turns/{turn}/")) == told


def test_parts_are_the_turns_and_the_count(client: Client, me: Actor) -> None:
    turn = ask(me, agent_of(me), "call ask_user {}")
    parts = get(client, "/inbox/parts/")
    assert (shown(parts), badge(parts)) == ([turn], "1")
    for url in ("/dashboard/?only=now", f"/turns/{turn}/parts/"):
        assert badge(get(client, url)) == "1"
