"""The pages of turns that agents elsewhere reported: readable, and nothing offered that cannot be done."""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from typing import Any

import pytest
from django.test import Client
from django.utils.translation import override

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import changes, feed_cursor, keys
from agents.pages.external import SWITCH
from agents.pages.external_warnings import ADVICE, translate_warning
from agents.telemetry.reading import dialects, turn_warnings
from agents.telemetry.reading.dialects import openai_agents
from agents.telemetry.reading.openai_agents import from_json
from agents.telemetry.reading.otlp import logs_from_json
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from agents.uikit.sources import EXTERNAL_QUERY
from tests.support.pages.external_turns import tell, turn, url
from tests.support.pages.markup import elements, unsafe, words
from tests.support.pages.script_payloads import PAYLOADS
from tests.support.pages.turn_page import cards, get
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db

Attributes = dict[str, Any]
WORKFLOW: Attributes = {"openinference__span__kind": "CHAIN"}
AGENT: Attributes = {"gen_ai__operation__name": "invoke_agent"}
HANDOFF: Attributes = {"openinference__span__kind": "TOOL", "input__value": "triage", "output__value": "experts"}
CHAT: Attributes = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o"}


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def nested(trace: int = 1) -> list[Any]:
    """A workflow with a chain, an agent in that, its model's call, and an embedding."""
    asked, said = reports.text("user", "Where is it?"), reports.text("assistant", "In the *box*.")
    words: Attributes = {"gen_ai__input__messages": asked, "gen_ai__output__messages": said}
    return [
        reports.span(trace, 1, "workflow", takes=9, openinference__span__kind="AGENT", agent__name="desk"),
        reports.span(trace, 2, "plan <b>it</b>", parent=1, takes=8, **WORKFLOW, input__value='{"a": [1, 2]}'),
        reports.span(trace, 3, "invoke_agent finder", parent=2, takes=7, **AGENT, gen_ai__agent__name="finder"),
        reports.span(trace, 4, "chat", parent=3, takes=6, **CHAT, **words),
        reports.span(trace, 5, "embed", parent=3, at=6, openinference__span__kind="EMBEDDING", input__value="a box"),
    ]


# -------------------------------------------------------------------------------------------- reader


def test_it_shows_the_conversation_and_its_tools(client: Client, me: Actor) -> None:
    tell(me, *reports.turn(1))
    page = get(client, url(me))
    assert [card["data-type"] for card in cards(page)] == ["inference", "tool_execution", "inference"]
    read = words(page)
    assert "How warm is it?" in read
    assert "It is 18 degrees." in read
    assert '"city"' in read
    for never in ("answered through the API", "Client tool", "ran on the server"):
        assert never not in read
    assert unsafe(page) == []


def test_steps_are_nested_and_called_what_they_are(client: Client, me: Actor) -> None:
    tell(me, *nested())
    page = get(client, url(me))
    assert [(card["data-type"], card.get("data-depth", "0")) for card in cards(page)] == [
        ("other", "0"),
        ("other", "1"),
        ("inference", "2"),
        ("other", "2"),
    ]
    assert page.count('class="line-step"') == 1  # the chain is one line
    read = words(page)
    assert "chain plan <b>it</b>" in read
    assert "Embedding" in read
    assert "a box" in read
    assert [each["data-depth"] for each in elements(page, "li") if "data-depth" in each] == ["1", "2", "2"]


def test_each_speaks_under_the_name_of_its_agent(client: Client, me: Actor) -> None:
    tell(me, *nested())
    page = get(client, url(me))
    assert '<p class="speaker" dir="auto" title="finder">finder</p>' in page


def test_a_handoff_says_who_to_whom(client: Client, me: Actor) -> None:
    handed = reports.span(1, 6, "handoff to experts", parent=1, langfuse__observation__type="handoff", **HANDOFF)
    tell(me, *nested(), handed)
    assert "triage → experts" in words(get(client, url(me)))


def test_an_answer_that_no_step_said_is_there_once(client: Client, me: Actor) -> None:
    said: Attributes = {
        "gen_ai__input__messages": reports.text("user", "Hm?"),
        "gen_ai__output__messages": reports.text("assistant", "Aha."),
    }
    tell(me, reports.span(1, 1, "invoke_agent a", gen_ai__agent__name="a", **AGENT, **said))
    assert words(get(client, url(me))).count("Aha.") == 1
    tell(me, *reports.turn(2))
    assert words(get(client, url(me, "degrees"))).count("It is 18 degrees.") == 1


# ------------------------------------------------------------------------------------------- notices


def test_what_was_not_captured_is_said_with_the_name_of_the_switch(client: Client, me: Actor) -> None:
    tell(me, reports.span(1, 1, "chat gpt-4o", **CHAT))
    page = get(client, url(me))
    assert page.count(SWITCH) == 1
    assert f"<code>{SWITCH}=span_only</code>" in page
    assert words(page).count("not captured by the sender") == 2
    assert "no text" not in page


def test_warnings_are_notices(client: Client, me: Actor) -> None:
    late = reports.span(1, 7, "chat gpt-4o", at=20, parent=1, **CHAT)
    tell(me, *reports.turn(1)[1:], late)
    page = get(client, url(me))
    assert 'class="turn-notice"' in page
    assert "Clocks differ" in words(page)
    assert 'class="turn-notice"' not in get(client, url(me) + "?view=raw").partition("turn-main")[0]


def test_an_sdk_that_cannot_send_words_is_not_told_to_switch_them_on(client: Client, me: Actor) -> None:
    """The Agents SDK's own exporter has no such switch: its own advice stands alone."""
    at = "2026-11-20T09:00:00.000000+00:00"
    span = {"object": "trace.span", "trace_id": "trace_1", "started_at": at, "ended_at": at}
    told = [
        {"object": "trace", "id": "trace_1", "workflow_name": "w"},
        {**span, "id": "span_1", "span_data": {"type": "agent", "name": "a"}},
        {**span, "id": "span_2", "parent_id": "span_1", "span_data": {"type": "response", "response_id": "r"}},
    ]
    inbox.accept(me, from_json({"data": told}).spans)
    projector.wake()
    page = get(client, url(me))
    assert page.count('class="turn-notice"') == 1
    assert openai_agents.ADVICE in words(page)
    assert SWITCH not in page


def _advice() -> list[str]:
    modules = [import_module(f"{dialects.__name__}.{one.name}") for one in pkgutil.iter_modules(dialects.__path__)]
    return [module.ADVICE for module in modules if hasattr(module, "ADVICE")]


def test_all_that_is_remarked_can_be_said_in_other_languages() -> None:
    kinds = (turn_warnings.parents_missing, turn_warnings.trace_truncated, turn_warnings.attributes_cut)
    counted = [said(count) for said in kinds for count in (1, 2, 7000)]
    assert len(_advice()) > 4
    for language in ("de", "fr"):
        with override(language):
            for remark in (*turn_warnings.SENTENCES, *counted, *_advice()):
                assert translate_warning(remark) != remark
            assert translate_warning("What nobody knows.") == "What nobody knows."


def test_advice_is_known_as_such() -> None:
    assert set(_advice()) == ADVICE


# -------------------------------------------------------------------------------------------- origin


def test_the_side_says_where_it_came_from(client: Client, me: Actor) -> None:
    tell(me, *nested(0xABC), **{"telemetry.sdk.name": "opentelemetry", "telemetry.sdk.version": "1.45.0"})
    read = words(get(client, url(me)))
    for said in ("Origin", "OpenTelemetry", "tests", "opentelemetry 1.45.0", f"{0xABC:032x}"):
        assert said in read
    assert "desk , finder" in read or "desk, finder" in read


def test_the_raw_span_is_one_click_away(client: Client, me: Actor) -> None:
    tell(me, *nested())
    here = url(me)
    page = get(client, here)
    links = [each["href"] for each in elements(page, "a") if "step-span" in each.get("class", "")]
    assert links == [f"{here}spans/{number:016x}/" for number in (2, 3, 4, 5)]
    span = get(client, links[2])
    assert "gen_ai.input.messages" in words(span)
    assert f'href="{here}#step-2"' in span
    assert client.get(f"{links[2]}?as=json").json()["id"] == f"{4:016x}"
    assert "gen_ai.request.model" in get(client, f"{links[2]}?as=text")
    assert unsafe(span) == []


def test_a_branch_of_a_span_is_opened_by_its_path(client: Client, me: Actor) -> None:
    tell(me, *nested())
    there = f"{url(me)}spans/{4:016x}/"
    whole = get(client, there)
    branch = next(each["data-branch"] for each in elements(whole, "details") if "data-branch" in each)
    part = get(client, there + branch)
    assert part.lstrip().startswith('<ul class="tree"')
    assert client.get(there + branch.replace("only=part", "only=value")).status_code == 200
    assert client.get(there + "?path=999").status_code == 200


@pytest.mark.parametrize("span", ["nobody's", "made:call_1", "0" * 16, "a/b", "x" * 300, "%00", "../.."])
def test_a_span_that_is_not_there_is_not_found(client: Client, me: Actor, span: str) -> None:
    tell(me, *nested())
    assert client.get(f"{url(me)}spans/{span}/").status_code == 404


def test_a_span_told_twice_is_shown_as_often_as_it_differs(client: Client, me: Actor) -> None:
    spans = nested()
    tell(me, *spans)
    tell(me, spans[3])
    tell(me, {**spans[3], "name": "chat again"})
    found = client.get(f"{url(me)}spans/{4:016x}/?as=json").json()
    assert [span["name"] for span in found] == ["chat", "chat again"]
    assert "It was reported 2 times" in words(get(client, f"{url(me)}spans/{4:016x}/"))


def test_the_raw_view_lists_all_spans(client: Client, me: Actor) -> None:
    tell(me, *nested())
    page = get(client, url(me) + "?view=raw")
    read = words(page)
    assert "As reported" in read
    assert "Events" not in read
    assert page.count('class="raw-number"') == len(nested())
    lines = client.get(f"{url(me)}spans.jsonl").content.decode().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [span["spanId"] for span in nested()]
    assert unsafe(page) == []


def test_a_log_record_is_called_what_it_tells_of(client: Client, me: Actor) -> None:
    tell(me, *nested())
    record = {"traceId": f"{1:032x}", "spanId": f"{9:016x}", "eventName": "api_error", "severityNumber": 17}
    inbox.accept(me, logs_from_json({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).spans)
    projector.wake()
    assert "log record ERROR api_error" in words(get(client, url(me) + "?view=raw"))
    there = words(get(client, f"{url(me)}spans/{9:016x}/"))
    assert "api_error" in there
    assert "severity ERROR" in there


def test_a_span_says_what_it_is_linked_to(client: Client, me: Actor) -> None:
    here, elsewhere = {"traceId": f"{1:032x}", "spanId": f"{4:016x}"}, {"traceId": "ab" * 16, "spanId": "cd" * 8}
    spans = nested()
    tell(me, *spans[:-1], {**spans[-1], "links": [here, elsewhere]})
    page = words(get(client, f"{url(me)}spans/{5:016x}/"))
    assert f"linked to {4:016x}, {'cd' * 8} ({'ab' * 16})" in page


def test_what_was_found_is_from_the_retriever_where_no_store_is_named(client: Client, me: Actor) -> None:
    found: Attributes = {"retrieval__documents__0__document__content": "It rains.", "input__value": "weather"}
    tell(me, *nested(), reports.span(1, 6, "notes", parent=1, openinference__span__kind="RETRIEVER", **found))
    assert "1 passage from notes" in words(get(client, url(me)))


def test_the_turn_is_read_through_the_agents_api(client: Client, me: Actor) -> None:
    """Calls that follow each other directly are steps of their own."""
    words: Attributes = {"gen_ai__output__messages": reports.text("assistant", "Yes.")}
    calls = [reports.span(1, number, "chat", parent=1, at=number, **CHAT, **words) for number in (2, 3, 4)]
    tell(me, reports.span(1, 1, "invoke_agent a", takes=9, gen_ai__agent__name="a", **AGENT), *calls)
    row = turn(me)
    agent, session = ids.public(ids.Kind.AGENT, row.agent_id), ids.public(ids.Kind.SESSION, row.session_id)
    answer = client.get(f"/v1/agents/{agent}/session/{session}/turn/{ids.public(ids.Kind.TURN, row.id)}")
    assert [step["step_type"] for step in answer.json()["steps"]] == ["inference"] * 3


# -------------------------------------------------------------------------------------------- acting


def test_nothing_is_offered_that_cannot_be_done(client: Client, me: Actor) -> None:
    tell(me, *reports.turn(1)[:1])  # still running
    row = turn(me)
    for page in (get(client, url(me)), *_others(client, row)):
        offered = {each.get("action", "") for each in elements(page, "form")}
        assert not [action for action in offered if action.endswith(("/say/", "/cancel/", "/answer/", "/try/"))]
        assert "/fork/" not in page
        assert "Try it" not in words(page)
        assert "/v1/agents/" not in page.partition("<main")[2]


def _others(client: Client, row: Any) -> list[str]:
    session, agent = ids.public(ids.Kind.SESSION, row.session_id), ids.public(ids.Kind.AGENT, row.agent_id)
    return [get(client, f"/sessions/{session}/"), get(client, f"/agents/{agent}/")]


def test_the_page_of_its_agent_says_what_is_known(client: Client, me: Actor) -> None:
    told: Attributes = {"gen_ai__system_instructions": json.dumps([{"type": "text", "content": "Be kind."}])}
    tell(me, *reports.turn(1, **told))
    page = words(_others(client, turn(me))[1])
    for said in ("runs elsewhere", "OpenTelemetry", "gpt-4o", "Be kind."):
        assert said in page
    listed = words(get(client, "/agents/"))
    assert "runs elsewhere" in listed
    assert "enabled" not in listed


# ---------------------------------------------------------------------------------------------- live


def test_a_running_one_is_followed_from_before_it_was_read(client: Client, me: Actor) -> None:
    tell(me, *reports.turn(1)[:1])
    seen = changes.latest()
    [page] = [each for each in elements(get(client, url(me)), "div") if "data-turn" in each]
    assert "data-live" in page
    assert "data-foreign" in page
    assert feed_cursor.seq_of(me, page["data-cursor"]) == seen
    tell(me, *reports.turn(1)[1:])
    [page] = [each for each in elements(get(client, url(me)), "div") if "data-turn" in each]
    assert "data-live" not in page


def test_one_query_names_all_that_ran_elsewhere(me: Actor) -> None:
    tell(me, *reports.turn(1))
    assert turn(me, EXTERNAL_QUERY).source == "otlp"


# ------------------------------------------------------------------------------------------- hostile


@pytest.mark.corpus
@pytest.mark.parametrize("text", PAYLOADS)
def test_whatever_they_send_stays_text(client: Client, me: Actor, text: str) -> None:
    spans = [
        *reports.turn(1, text, text, gen_ai__conversation__id=text, **{"user__id": text, "session__tags": text}),
        reports.span(1, 8, text, parent=1, openinference__span__kind=text, input__value=text, output__value=text),
        reports.span(1, 9, text, parent=1, **AGENT, gen_ai__agent__name=text, fails=text),
        reports.span(1, 10, text, parent=9, **WORKFLOW, input__value=text),
        reports.span(1, 11, text, parent=9, openinference__span__kind="TOOL", tool__name=text, input__value=text),
    ]
    tell(me, *spans, **{"service.name": text, "telemetry.sdk.name": text})
    here = url(me)
    for page in (here, f"{here}?view=raw", f"{here}?view=timeline", f"{here}spans/{8:016x}/", *_urls(me)):
        assert unsafe(get(client, page)) == [], page


def _urls(me: Actor) -> list[str]:
    row = turn(me)
    return [
        f"/sessions/{ids.public(ids.Kind.SESSION, row.session_id)}/",
        f"/agents/{ids.public(ids.Kind.AGENT, row.agent_id)}/",
        "/agents/",
        "/logs/",
    ]


# ----------------------------------------------------------------------------------------- for others


def test_others_see_neither_the_turn_nor_its_spans(client: Client, make_user: Any, settings: Any) -> None:
    owner, stranger = make_user("owner", teams=["red"]), make_user("stranger", teams=["green"])
    tell(owner, *nested())
    here = url(owner)
    settings.REQUIRE_LOGIN = True
    for user, expected in ((owner, 200), (stranger, 404)):
        client.force_login(_user(user))
        for page in (here, f"{here}spans.jsonl", f"{here}spans/{4:016x}/"):
            assert client.get(page).status_code == expected


def _user(actor: Actor) -> Any:
    from agents.base.models.people import User

    return User.objects.get(username=actor.name)
