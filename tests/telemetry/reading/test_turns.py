"""Spans to turns: what is one turn, who did what in it, how it ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.record.schemas.content import ImageItem, text_of
from agents.record.schemas.events import InferenceDetail, MemoryDetail, OtherDetail, ShieldDetail, ToolDetail
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.spans import Span, SpanEvent
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.sample_spans import (
    SECOND,
    START,
    agent,
    model,
    requested_call,
    span,
    tool,
    tool_result,
    user,
)


def only_turn(*spans: Span) -> ExternalTurn:
    (turn,) = build_turns(spans)
    return turn


def texts_of(turn: ExternalTurn) -> tuple[list[str], str]:
    return [text_of(message.content) for message in turn.input], text_of(turn.output.content if turn.output else None)


def places(turn: ExternalTurn) -> dict[str, str]:
    """The step above each step."""
    return {step.id: step.parent for step in turn.steps}


def step(turn: ExternalTurn, id_: str) -> ExternalStep:
    return next(step_ for step_ in turn.steps if step_.id == id_)


# ---------------------------------------------------------------------------------------------- what is one turn


def test_an_agents_run_is_a_turn_and_what_it_does_are_its_steps() -> None:
    turn = only_turn(
        agent(),
        model("m", user("Where?"), calls=(("c1", "look", {"at": "map"}),), parent="agent", at=1),
        tool("t", parent="agent", at=2, attributes={"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "there"}),
        model(
            "n",
            user("Where?"),
            requested_call("c1"),
            tool_result("c1", "there"),
            answer="It is there.",
            parent="agent",
            at=3,
        ),
    )
    assert (turn.id, turn.session, turn.agent, turn.status) == ("t1", "trace:t1", "helper", "completed")
    assert texts_of(turn) == (["Where?"], "It is there.")
    assert [step_.id for step_ in turn.steps] == ["m", "t", "n"]
    assert (turn.started_us, turn.ended_us) == (START // 1000, (START + 10 * SECOND) // 1000)
    detail = step(turn, "t").detail
    assert isinstance(detail, ToolDetail)
    assert detail.tool_calls[0].arguments == {"at": "map"}


def test_plain_spans_above_are_looked_through_so_that_two_runs_are_two_turns() -> None:
    turns = build_turns([span("http", took=60), agent("a", parent="http", at=1), agent("b", parent="http", at=20)])
    assert [turn.id for turn in turns] == ["t1", "t1:b"]


def test_no_turn_is_made_of_spans_that_are_no_agents_doings() -> None:
    assert build_turns([span("http"), span("db", parent="http", attributes={"db.system": "sqlite"})]) == []


def test_a_sub_agent_is_a_step_and_its_steps_lie_in_it() -> None:
    turn = only_turn(
        agent("top", "boss"),
        tool("ask", parent="top", at=1, took=5),
        agent("sub", "clerk", parent="ask", at=2, took=3),
        model("m", parent="sub", at=3, answer="done by the clerk"),
    )
    assert places(turn) == {"ask": "", "sub": "ask", "m": "sub"}
    assert (step(turn, "m").agent, step(turn, "ask").agent) == ("clerk", "boss")
    assert turn.agents == ("boss", "clerk")
    assert turn.output is None


def test_children_without_their_root_are_one_turn_that_still_goes_on() -> None:
    children = [model("m", user("Hi"), answer="Hello you there", parent="gone"), tool("t", parent="gone", at=2)]
    turn = only_turn(*children)
    assert (turn.id, turn.status, turn.warnings) == (
        "t1",
        "in_progress",
        ("The root span of this turn has not arrived.",),
    )
    complete = only_turn(*children, agent("gone"))
    assert (complete.id, complete.status, complete.warnings) == ("t1", "completed", ())


def test_an_agent_below_a_span_of_another_service_is_a_turn_like_any_other() -> None:
    assert only_turn(agent(parent="elsewhere")).status == "completed"


def test_a_span_whose_parent_never_came_belongs_to_the_turn_around_it() -> None:
    turn = only_turn(agent(), tool("t", parent="lost", at=2))
    assert places(turn) == {"t": ""}
    assert turn.warnings == ("The parent span of a step never arrived.",)


def test_agents_one_after_the_other_below_a_workflow_are_one_turn_of_the_first() -> None:
    workflow = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "desk"}
    turn = only_turn(
        span("w", took=9, attributes=workflow),
        agent("b", "second", parent="w", at=5),
        agent("a", "first", parent="w", at=1),
    )
    assert (turn.agent, turn.agents) == ("first", ("first", "second"))


def test_spans_that_are_each_others_parents_are_still_told() -> None:
    turn = only_turn(agent("a", parent="b"), tool("b", parent="a", at=1), tool("c", parent="c", at=2))
    assert {step_.id for step_ in turn.steps} == {"b", "c"}


def test_the_agents_sdks_traces_have_no_end_and_are_over_when_their_runs_are() -> None:
    trace = Span(
        "t1", "trace", attributes={"object": "trace", "workflow_name": "w", "group_id": "g"}, format="openai_agents"
    )
    assert build_turns([trace]) == []
    task = _sdk("task", {"type": "custom", "name": "task", "data": {"sdk_span_type": "task"}}, parent="trace", took=9)
    run = _sdk("run", {"type": "agent", "name": "helper"}, parent="task")
    assert only_turn(trace, run).status == "in_progress"
    turn = only_turn(trace, run, task)
    assert (turn.id, turn.session, turn.status) == ("t1", "g", "completed")
    assert (turn.started_us, turn.ended_us) == (START // 1000, (START + 9 * SECOND) // 1000)
    run.attributes["error"] = {"message": "Error in agent run", "data": {"error": "no more credit"}}
    turn = only_turn(trace, run, task)
    assert turn.error is not None
    assert (turn.status, turn.error.message) == ("failed", "Error in agent run: no more credit")


def _sdk(id_: str, data: dict[str, Any], **more: Any) -> Span:
    return span(id_, attributes={"object": "trace.span", "span_data": data}, format="openai_agents", **more)


def test_an_agent_without_a_name_is_called_what_its_spans_say() -> None:
    graph = {"openinference.span.kind": "CHAIN"}
    node = {"openinference.span.kind": "AGENT", "metadata": '{"lc_agent_name": "helper"}'}
    turn = only_turn(span("LangGraph", took=9, attributes=graph), span("agent", parent="LangGraph", attributes=node))
    assert turn.agents == ("helper",)
    run = only_turn(span("r", name="weather_agent.run", attributes={"openinference.span.kind": "AGENT"}))
    assert run.agent == "weather_agent"
    ran = only_turn(span("r", name="a" + ".run" * 100_000 + "x", attributes={"openinference.span.kind": "AGENT"}))
    assert ran.agent.startswith("a")
    assert only_turn(span("c", attributes=graph, resource={"service.name": "desk"})).agent == "desk"


# ---------------------------------------------------------------------------------------------- bare calls of models


def test_bare_calls_of_a_session_are_chained_to_turns() -> None:
    session = {"session.id": "s1"}
    turns = build_turns(
        [
            model("m1", user("A?"), calls=(("c1", "look", {}),), trace="ta", at=0, attributes=session),
            model(
                "m2",
                user("A?"),
                requested_call("c1"),
                tool_result("c1", "r"),
                answer="Aa.",
                trace="tb",
                at=2,
                attributes=session,
            ),
            model("m3", user("A?"), user("B?"), answer="Bb.", trace="tc", at=4, attributes=session),
        ]
    )
    assert [(turn.id, turn.session, turn.traces) for turn in turns] == [
        ("ta", "s1", ("ta", "tb")),
        ("tc", "s1", ("tc",)),
    ]
    made = turns[0].steps[1]
    assert (made.id, made.is_inferred, made.name) == ("made:c1", True, "look")
    assert made.started_us == made.ended_us == (START + SECOND) // 1000


def test_a_made_run_goes_when_the_tools_own_span_comes() -> None:
    spans = [
        model("m1", user("A?"), calls=(("c1", "look", {}),), at=0),
        model("m2", user("A?"), requested_call("c1"), tool_result("c1", "r"), answer="Aa.", at=2),
    ]
    assert [step_.id for step_ in only_turn(*spans).steps] == ["m1", "made:c1", "m2"]
    real = tool("t", at=1, attributes={"gen_ai.tool.call.id": "c1"})
    assert [step_.id for step_ in only_turn(*spans, real).steps] == ["m1", "t", "m2"]


def test_calls_without_a_session_are_put_together_by_what_they_repeat() -> None:
    first = model("m1", user("A?"), answer="A long enough answer.", trace="ta")
    again = {"role": "assistant", "content": "A long enough answer."}
    second = model("m2", user("A?"), again, user("B?"), answer="Another long answer.", trace="tb", at=3)
    other = model("m3", user("A?"), answer="Quite a different answer.", trace="tc", at=6)
    assert [(turn.id, turn.session) for turn in build_turns([other, second, first])] == [
        ("ta", "trace:ta"),
        ("tb", "trace:ta"),
        ("tc", "trace:tc"),
    ]


def test_another_services_answers_are_no_link() -> None:
    first = model("m1", user("A?"), answer="A long enough answer.", trace="ta", resource={"service.name": "one"})
    again = {"role": "assistant", "content": "A long enough answer."}
    second = model("m2", again, user("B?"), answer="Another.", trace="tb", at=3, resource={"service.name": "two"})
    assert {turn.session for turn in build_turns([first, second])} == {"trace:ta", "trace:tb"}


def test_a_later_question_within_one_trace_is_a_turn_of_its_own() -> None:
    again = {"role": "assistant", "content": "A long enough answer."}
    turns = build_turns(
        [
            span("script", took=60),
            model("m1", user("A?"), answer="A long enough answer.", parent="script", at=1),
            model("m2", user("A?"), again, user("B?"), answer="Another one.", parent="script", at=3),
        ]
    )
    assert [(turn.id, texts_of(turn)[0]) for turn in turns] == [("t1", ["A?"]), ("t1:m2", ["B?"])]


# ---------------------------------------------------------------------------------------------- sessions, status


@pytest.mark.parametrize(
    ("attributes", "session"),
    [
        ({"gen_ai.conversation.id": "c", "session.id": "s"}, "c"),
        ({"metadata": '{"thread_id": "th"}'}, "th"),
        ({"ai.telemetry.metadata.sessionId": "v"}, "v"),
        ({"mlflow.trace.session": '"quoted"'}, "quoted"),
        ({"traceloop.association.properties.session_id": "tl"}, "tl"),
        ({"session.id": ""}, "trace:t1"),
        ({"session.id": ["no", "text"]}, "trace:t1"),
    ],
)
def test_the_session_is_the_one_that_is_meant_most(attributes: dict[str, Any], session: str) -> None:
    assert only_turn(agent(attributes=attributes)).session == session


def test_the_conversation_of_a_nested_agent_never_counts() -> None:
    own = {"gen_ai.conversation.id": "its own"}
    spans = [agent("top"), tool("t", parent="top", at=1), agent("sub", parent="t", at=2, attributes=own)]
    assert only_turn(*spans).session == "trace:t1"
    spans[0].attributes["gen_ai.conversation.id"] = "the real one"
    assert only_turn(*spans).session == "the real one"


def test_a_session_stands_also_on_a_plain_span_above_or_on_the_resource() -> None:
    assert only_turn(span("http", attributes={"session.id": "web"}), agent(parent="http")).session == "web"
    assert only_turn(agent(resource={"session.id": "cli"})).session == "cli"


def test_a_failed_root_fails_the_turn_and_a_failed_tool_does_not() -> None:
    failed = only_turn(agent(failed=True, message="ValueError: no such city\nTraceback…"))
    assert failed.error is not None
    assert (failed.status, failed.error.type, failed.error.message) == ("failed", "ValueError", "no such city")
    turn = only_turn(agent(), tool("t", parent="agent", failed=True, attributes={"error.type": "timeout"}))
    assert (turn.status, step(turn, "t").status) == ("completed", "failed")


def test_a_root_without_an_end_still_goes_on() -> None:
    turn = only_turn(agent(took=None), model("m", parent="agent", answer="so far"))
    assert (turn.status, turn.ended_us) == ("in_progress", None)


def test_a_step_that_ended_before_it_began_has_no_end() -> None:
    turn = only_turn(agent(), tool("t", parent="agent", took=-5))
    assert step(turn, "t").ended_us is None


# ---------------------------------------------------------------------------------------------- tokens, words


def embedding(id_: str, **more: Any) -> Span:
    used = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e1", "gen_ai.usage.input_tokens": 7}
    return span(id_, attributes=used, **more)


def test_the_tokens_of_embeddings_count_once() -> None:
    turn = only_turn(agent(), embedding("outer", parent="agent"), embedding("inner", parent="outer"))
    assert [(step_.id, step_.usage.input_tokens if step_.usage else None) for step_ in turn.steps] == [
        ("outer", None),
        ("inner", 7),
    ]
    assert [step_.model for step_ in turn.steps] == ["e1", "e1"]


def test_tokens_are_counted_once_at_the_innermost_model() -> None:
    usage = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 10}
    turn = only_turn(
        agent(attributes=usage),
        model("outer", parent="agent", at=1, answer="words of an answer"),
        model("inner", parent="outer", at=2, answer="words of an answer"),
    )
    assert [(step_.id, step_.type, step_.kind) for step_ in turn.steps] == [
        ("outer", "other", "llm_wrapper"),
        ("inner", "inference", "chat"),
    ]
    assert [step_.usage is not None for step_ in turn.steps] == [False, True]


def test_a_turn_without_any_models_call_keeps_the_sum_that_it_tells() -> None:
    usage = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 10}
    turn = only_turn(agent(attributes=usage))
    assert [(step_.id, step_.is_inferred, step_.usage and step_.usage.input_tokens) for step_ in turn.steps] == [
        ("made:agent", True, 20)
    ]
    assert turn.warnings[0].startswith("No model call was reported")


def test_a_sender_that_leaves_cached_tokens_out_is_known_by_their_number() -> None:
    usage = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.cache_read.input_tokens": 200}
    turn = only_turn(agent(), model("m", parent="agent", answer="yes", attributes=usage))
    counted = turn.steps[0].usage
    assert counted is not None
    assert (counted.input_tokens, counted.cached_tokens) == (220, 200)


def test_hidden_words_are_hidden_and_not_empty() -> None:
    turn = only_turn(model("m"))
    assert (turn.hidden, turn.steps[0].hidden, turn.output) == (True, True, None)
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in turn.warnings[0]
    redacted = {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user"}
    redacted |= {"llm.input_messages.0.message.content": "__REDACTED__", "output.value": "__REDACTED__"}
    turn = only_turn(span("m", attributes=redacted))
    assert (turn.hidden, turn.input) == (True, ())


def test_pictures_are_kept() -> None:
    parts = [
        {"type": "text", "content": "What is this?"},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aGk="},
        {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": "aGk="},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ]
    turn = only_turn(model("m", {"role": "user", "parts": parts}, answer="A cat, I think."))
    content = turn.input[0].content
    assert isinstance(content, list)
    assert [item.image.url.uri for item in content if isinstance(item, ImageItem) and item.image.url] == [
        "data:image/png;base64,aGk=",
        "https://example.org/a.png",
    ]
    assert text_of(content) == "What is this?\n[audio/wav]"


def test_instructions_and_tools_are_told_once_for_the_turn() -> None:
    attributes = {
        "gen_ai.system_instructions": '[{"type": "text", "content": "Be brief."}]',
        "gen_ai.tool.definitions": json.dumps(
            [{"type": "function", "function": {"name": "look", "parameters": {"a": 1}}}]
        ),
    }
    turn = only_turn(model("m", user("Hi"), answer="Hello there, you", attributes=attributes))
    assert turn.instructions == "Be brief."
    assert turn.tools == ({"name": "look", "input_schema": {"a": 1}},)


def test_records_can_tell_the_words_of_a_call() -> None:
    attributes = {
        "gen_ai.input.messages": [user("Hi")],
        "gen_ai.output.messages": [{"role": "assistant", "content": "Hello"}],
    }
    record = Span(
        trace="t1",
        id="m",
        is_log=True,
        events=[SpanEvent("gen_ai.client.inference.operation.details", attributes=attributes)],
    )
    assert build_turns([record]) == []
    for spans in ([record, model("m")], [model("m"), record]):
        assert texts_of(only_turn(*spans)) == (["Hi"], "Hello")


def test_facts_that_people_search_by_are_kept_within_bounds() -> None:
    turn = only_turn(
        agent(
            resource={"service.name": "desk", "service.version": "1.2", "deployment.environment.name": "prod"},
            attributes={
                "metadata": json.dumps({"tenant": "acme", "long": "x" * 600, **{f"k{n}": n for n in range(100)}}),
                "user.id": "ana",
                "tag.tags": ["a", "b", "a"],
            },
        )
    )
    facts = turn.metadata
    assert (facts["environment"], facts["release"], facts["service"], facts["tenant"]) == (
        "prod",
        "1.2",
        "desk",
        "acme",
    )
    assert (len(facts), len(facts["long"])) == (64, 512)
    assert (turn.user, turn.tags) == ("ana", ("a", "b"))


def test_cut_attributes_are_told_with_a_way_out() -> None:
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000" in only_turn(agent(dropped=3)).warnings[0]


def test_clocks_that_differ_are_told() -> None:
    assert only_turn(agent(took=2), tool("t", parent="agent", at=60)).warnings[-1].startswith("Clocks differ")


# ---------------------------------------------------------------------------------------------- kinds of steps


def test_retrievals_guardrails_and_others_have_their_details() -> None:
    documents = json.dumps([{"id": "d1", "content": "Paris is mild.", "score": 0.5}])
    turn = only_turn(
        agent(),
        span(
            "r",
            parent="agent",
            at=1,
            attributes={
                "gen_ai.operation.name": "retrieval",
                "gen_ai.data_source.id": "guide",
                "gen_ai.retrieval.query.text": "Paris?",
                "gen_ai.retrieval.documents": documents,
            },
        ),
        span("g", parent="agent", at=2, attributes={"openinference.span.kind": "GUARDRAIL", "input.value": "hi"}),
        span(
            "e", parent="agent", at=3, attributes={"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e1"}
        ),
        span("x", parent="agent", at=4, attributes={"gen_ai.operation.name": "load_skill"}),
    )
    assert [(step_.type, step_.kind) for step_ in turn.steps if step_.type == "other"] == [
        ("other", "embedding"),
        ("other", "load_skill"),
    ]
    memory, shield, other = (step(turn, step_).detail for step_ in "rgx")
    assert isinstance(memory, MemoryDetail)
    assert (memory.vector_db_ids, memory.query, memory.inserted_context) == ("guide", "Paris?", "Paris is mild.")
    assert isinstance(shield, ShieldDetail)
    assert (shield.touchpoint, shield.shields, shield.violation) == ("user-input", ["g"], None)
    assert isinstance(other, OtherDetail)


def test_calls_are_believed_more_than_a_stop_beside_them() -> None:
    stop = {"gen_ai.response.finish_reasons": ["stop"]}
    turn = only_turn(model("m", user("A?"), calls=(("c", "look", "{}"),), attributes=stop))
    detail = turn.steps[0].detail
    assert isinstance(detail, InferenceDetail)
    assert detail.finish_reason == "tool_calls"


def test_a_tool_without_a_call_id_takes_the_next_wish_of_its_name() -> None:
    calls = (("c1", "look", {"n": 1}), ("c2", "look", {"n": 2}))
    turn = only_turn(
        agent(),
        model("m", user("A?"), calls=calls, parent="agent", at=1),
        tool("b", parent="agent", at=3),
        tool("a", parent="agent", at=2),
        tool("c", parent="agent", at=4),
    )
    ids = {step_.id: step_.detail.tool_calls[0].call_id for step_ in turn.steps if isinstance(step_.detail, ToolDetail)}
    assert ids == {"a": "c1", "b": "c2", "c": ""}


def test_details_are_what_their_types_say() -> None:
    """They are built without being checked, for speed."""
    turn = only_turn(
        agent(),
        model("m", user("A?"), calls=(("c1", "look", {"n": 1}),), parent="agent", at=1),
        tool("t", parent="agent", at=2, attributes={"gen_ai.tool.call.result": {"deep": [1, None]}}),
    )
    for step_ in turn.steps:
        assert type(step_.detail).model_validate(step_.detail.model_dump()) == step_.detail
