"""What brings traces of one conversation together."""

from __future__ import annotations

import msgspec

from agents.telemetry.reading.conversation_links import ConversationLinks, links_of
from tests.telemetry.reading.sample_spans import agent, model, requested_call, span, tool, tool_result, user


def test_a_trace_with_an_agent_on_top_is_not_bare_and_links_to_nothing() -> None:
    spans = [
        agent(attributes={"session.id": "s"}),
        model("m", user("A?"), answer="A long enough answer.", parent="agent"),
    ]
    assert links_of(spans) == ConversationLinks(session="s")


def test_a_bare_call_of_a_named_session_needs_no_other_links() -> None:
    call = model("m", user("A?"), answer="A long enough answer.", attributes={"session.id": "s"})
    assert links_of([call]) == ConversationLinks(session="s", is_bare=True)


def test_what_one_call_gave_a_later_one_got() -> None:
    request = links_of(
        [model("m1", user("A?"), calls=(("c1", "look", {}),), trace="ta", resource={"service.name": "x"})]
    )
    went_on = links_of(
        [model("m2", user("A?"), requested_call("c1"), tool_result("c1", "r"), answer="That is it then.", trace="tb")]
    )
    again = {"role": "assistant", "content": "That is it then."}
    later = links_of([model("m3", again, user("B?"), answer="Short.", trace="tc")])
    assert (request.is_bare, request.service, len(request.output_marks), request.input_marks) == (
        True,
        "x",
        1,
        frozenset(),
    )
    assert request.output_marks & went_on.input_marks
    assert went_on.output_marks & later.input_marks
    assert not request.output_marks & later.input_marks
    assert later.output_marks == frozenset()


def test_links_are_short_and_tell_no_words() -> None:
    links = links_of([model("m", user("A?"), answer="A long enough answer.")])
    assert all(len(mark) == 16 for mark in links.output_marks)


def test_a_tool_in_a_trace_of_its_own_got_the_call_it_answers() -> None:
    request = links_of([model("m", user("A?"), calls=(("c1", "look", {}),))])
    ran = links_of([tool("t", attributes={"gen_ai.tool.call.id": "c1"})])
    assert request.output_marks == ran.input_marks


def test_only_one_trace_is_looked_at() -> None:
    assert links_of([]) == ConversationLinks()
    assert links_of([span("a", trace="ta"), span("b", trace="tb")]) == ConversationLinks()


def test_a_plain_span_above_may_name_the_session() -> None:
    spans = [span("http", took=5, attributes={"session.id": "s"}), model("m", user("A?"), answer="Yes.", parent="http")]
    assert links_of(spans).session == "s"


def test_the_order_of_spans_does_not_matter() -> None:
    spans = [
        span("http", took=5),
        model("m1", user("A?"), answer="A long enough answer.", parent="http"),
        model("m2", user("B?"), answer="Another long answer.", parent="http", at=2),
    ]
    assert links_of(spans) == links_of([*spans[::-1], msgspec.structs.replace(spans[0])])
