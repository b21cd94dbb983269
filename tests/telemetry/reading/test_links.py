"""What brings traces of one conversation together."""

from __future__ import annotations

import msgspec

from agents.telemetry.reading.conversation_links import Links, of_trace
from tests.telemetry.reading.story import agent, brought, model, span, tool, user, wished


def test_a_trace_with_an_agent_on_top_is_not_bare_and_links_to_nothing() -> None:
    spans = [
        agent(attributes={"session.id": "s"}),
        model("m", user("A?"), answer="A long enough answer.", parent="agent"),
    ]
    assert of_trace(spans) == Links(session="s")


def test_a_bare_call_of_a_named_session_needs_no_other_links() -> None:
    call = model("m", user("A?"), answer="A long enough answer.", attributes={"session.id": "s"})
    assert of_trace([call]) == Links(session="s", is_bare=True)


def test_what_one_call_gave_a_later_one_got() -> None:
    asked = of_trace([model("m1", user("A?"), calls=(("c1", "look", {}),), trace="ta", resource={"service.name": "x"})])
    went_on = of_trace(
        [model("m2", user("A?"), wished("c1"), brought("c1", "r"), answer="That is it then.", trace="tb")]
    )
    again = {"role": "assistant", "content": "That is it then."}
    later = of_trace([model("m3", again, user("B?"), answer="Short.", trace="tc")])
    assert (asked.is_bare, asked.service, len(asked.gave), asked.got) == (True, "x", 1, frozenset())
    assert asked.gave & went_on.got
    assert went_on.gave & later.got
    assert not asked.gave & later.got
    assert later.gave == frozenset()


def test_links_are_short_and_tell_no_words() -> None:
    links = of_trace([model("m", user("A?"), answer="A long enough answer.")])
    assert all(len(mark) == 16 for mark in links.gave)


def test_a_tool_in_a_trace_of_its_own_got_the_call_it_answers() -> None:
    asked = of_trace([model("m", user("A?"), calls=(("c1", "look", {}),))])
    ran = of_trace([tool("t", attributes={"gen_ai.tool.call.id": "c1"})])
    assert asked.gave == ran.got


def test_only_one_trace_is_looked_at() -> None:
    assert of_trace([]) == Links()
    assert of_trace([span("a", trace="ta"), span("b", trace="tb")]) == Links()


def test_a_plain_span_above_may_name_the_session() -> None:
    spans = [span("http", took=5, attributes={"session.id": "s"}), model("m", user("A?"), answer="Yes.", parent="http")]
    assert of_trace(spans).session == "s"


def test_the_order_of_spans_does_not_matter() -> None:
    spans = [
        span("http", took=5),
        model("m1", user("A?"), answer="A long enough answer.", parent="http"),
        model("m2", user("B?"), answer="Another long answer.", parent="http", at=2),
    ]
    assert of_trace(spans) == of_trace([*spans[::-1], msgspec.structs.replace(spans[0])])
