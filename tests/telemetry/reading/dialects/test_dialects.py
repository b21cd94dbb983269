"""Dialects of which no capture tells, or a part of one: from their own documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.telemetry.reading.dialects import read
from agents.telemetry.reading.facts import HistoryMessage, SpanFacts
from agents.telemetry.reading.spans import Format, Span, SpanEvent


def facts(attributes: dict[str, Any], *, name: str = "n", format: Format = "otlp", **more: Any) -> SpanFacts:
    return read(Span("t", "s", name=name, attributes=attributes, format=format, **more))


def roles_and_texts(messages: list[HistoryMessage]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in messages]


def calls(messages: list[HistoryMessage]) -> list[tuple[str, str, Any]]:
    return [(call.id, call.name, call.arguments) for message in messages for call in message.calls]


# ---------------------------------------------------------------------------------------------- Traceloop


def test_a_function_that_traceloops_decorator_calls_a_tool() -> None:
    arguments = {"args": [], "kwargs": {"city": "Paris"}}
    tool = facts(
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "get_weather",
            "traceloop.entity.input": json.dumps(arguments),
            "traceloop.entity.output": '"about 18 degrees"',
        }
    )
    assert (tool.tool, tool.arguments) == ("get_weather", {"city": "Paris"})


def test_traceloops_flattened_messages() -> None:
    model = facts(
        {
            "llm.request.type": "chat",
            "gen_ai.system": "OpenAI",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be brief.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": '[{"type": "text", "text": "Weather?"}]',
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.finish_reason": "tool_calls",
            "gen_ai.completion.0.tool_calls.0.id": "call_1",
            "gen_ai.completion.0.tool_calls.0.name": "get_weather",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"city": "Paris"}',
            "gen_ai.usage.prompt_tokens": 12,
            "gen_ai.usage.completion_tokens": 3,
        }
    )
    assert (model.kind, model.model, model.finish) == ("llm", "gpt-4o", "tool_calls")
    assert roles_and_texts(model.input_messages.messages()) == [("system", "Be brief."), ("user", "Weather?")]
    assert calls(model.output_messages.messages()) == [("call_1", "get_weather", '{"city": "Paris"}')]
    assert model.usage is not None
    assert (model.usage.input_tokens, model.usage.output_tokens) == (12, 3)


def test_traceloops_entities() -> None:
    entity_input = json.dumps({"input_str": "{'city': 'Paris'}", "inputs": {"city": "Paris"}})
    output = json.dumps({"output": {"content": "18 C", "type": "tool", "tool_call_id": "call_1"}})
    tool = facts(
        {
            "traceloop.span.kind": "tool",
            "traceloop.entity.name": "get_weather",
            "traceloop.entity.input": entity_input,
            "traceloop.entity.output": output,
        }
    )
    assert (tool.kind, tool.tool, tool.arguments) == ("tool", "get_weather", {"city": "Paris"})
    assert (tool.call_id, tool.result) == ("call_1", "18 C")
    workflow = facts({"traceloop.span.kind": "workflow", "traceloop.entity.name": "LangGraph"})
    assert (workflow.kind, workflow.name) == ("workflow", "LangGraph")


# ---------------------------------------------------------------------------------------------- agents of the shell


def test_gemini_cli_speaks_googles_shape() -> None:
    resource = {"service.name": "gemini-cli", "session.id": "s1"}
    history = [
        {"role": "user", "parts": [{"text": "Read it."}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "read_file", "args": {"path": "a"}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "x"}}}],
        },
    ]
    model = facts(
        {
            "gen_ai.operation.name": "llm_call",
            "gen_ai.request.model": "gemini-2.5-flash",
            "gen_ai.input.messages": json.dumps(history),
            "gen_ai.output.messages": json.dumps([{"role": "model", "parts": [{"text": "Done."}]}]),
        },
        name="llm_call",
        resource=resource,
    )
    assert (model.kind, model.model, model.agent) == ("llm", "gemini-2.5-flash", "gemini-cli")
    messages = model.input_messages.messages()
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert messages[2].answered_call == "c1"
    assert roles_and_texts(model.output_messages.messages()) == [("assistant", "Done.")]
    tool = facts({"gen_ai.tool.name": "read_file", "gen_ai.tool.call_id": "c1"}, name="tool_call", resource=resource)
    assert (tool.kind, tool.tool, tool.call_id) == ("tool", "read_file", "c1")
    assert facts({"gen_ai.tool.name": "x"}, name="schedule_tool_calls", resource=resource).kind == ""


GEMINI = {"service.name": "gemini-cli"}


def gemini(name: str, inputs: Any, outputs: Any, **more: Any) -> SpanFacts:
    attributes = {"gen_ai.input.messages": json.dumps(inputs), "gen_ai.output.messages": json.dumps(outputs)}
    return facts({"gen_ai.operation.name": name, **attributes, **more}, name=name, resource=GEMINI)


def test_gemini_clis_calls_have_the_ids_that_histories_have() -> None:
    call = {"functionCall": {"id": "read_file__c1", "name": "read_file", "args": {"path": "a"}}}
    model = gemini("llm_call", [], [{"role": "model", "parts": [call]}])
    assert calls(model.output_messages.messages()) == [("c1", "read_file", {"path": "a"})]


def test_what_gemini_cli_says_first_is_not_its_users() -> None:
    parts = [{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}, {"text": "Read it."}]
    wrong = json.dumps([{"role": "system", "parts": [{"type": "text", "content": "Done."}]}])
    event = SpanEvent("gen_ai.client.inference.operation.details", attributes={"gen_ai.input.messages": wrong})
    attributes = {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": parts}])}
    model = facts(attributes, name="llm_call", resource=GEMINI, events=[event])
    assert roles_and_texts(model.input_messages.messages()) == [("user", "Read it.")]


@pytest.mark.parametrize(
    ("status", "answer", "failed"), [("success", {"output": "x"}, ""), ("error", {"error": "no file"}, "no file")]
)
def test_gemini_clis_tools_tell_all_of_their_request_and_outcome(status: str, answer: Any, failed: str) -> None:
    request = {"callId": "read_file__c1", "name": "read_file", "args": {"path": "a"}, "isClientInitiated": False}
    parts = [{"functionResponse": {"id": "read_file__c1", "name": "read_file", "response": answer}}]
    outcome = {"status": status, "request": request, "response": {"callId": "read_file__c1", "responseParts": parts}}
    named = {"gen_ai.tool.name": "read_file", "gen_ai.tool.call_id": "read_file__c1"}
    tool = gemini("tool_call", request, outcome, **named)
    assert (tool.call_id, tool.arguments, tool.result) == ("c1", {"path": "a"}, next(iter(answer.values())))
    assert (tool.error.message if tool.error else "") == failed


@pytest.mark.parametrize("outcome", ["", "[", [], {"status": "error", "response": None}, {"response": {}, "status": 1}])
def test_an_outcome_of_another_shape_is_left_as_it_is(outcome: Any) -> None:
    assert gemini("tool_call", outcome, outcome).kind == "tool"


def test_of_codex_three_spans_are_read() -> None:
    resource = {"service.name": "codex_cli_rs"}
    turn = facts(
        {"turn.id": "x", "codex.turn.token_usage.input_tokens": 30, "codex.turn.token_usage.output_tokens": 4},
        name="session_task.turn",
        resource=resource,
    )
    assert (turn.kind, turn.name, turn.usage and turn.usage.input_tokens) == ("agent", "codex", 30)
    tool = facts({"call_id": "c1"}, name="exec_command", resource=resource)
    assert (tool.kind, tool.tool, tool.call_id) == ("tool", "exec_command", "c1")
    assert facts({}, name="append_items", resource=resource).kind == ""
    assert facts({"call_id": "c1"}, name="exec_command").kind == ""


def test_claude_codes_tools_that_failed() -> None:
    tool = facts(
        {"span.type": "tool", "tool_name": "Bash", "tool_use_id": "t1", "full_command": "ls", "success": False},
        name="claude_code.tool",
        events=[SpanEvent("tool.output", attributes={"full_command": "ls", "output": "no such file"})],
    )
    assert (tool.tool, tool.arguments, tool.result) == ("Bash", {"full_command": "ls"}, "no such file")
    assert tool.error is not None


# ---------------------------------------------------------------------------------------------- others


def test_llama_stacks_older_spans() -> None:
    turn = facts(
        {"agent_id": "a", "turn_id": "u", "session_id": "s", "agent_name": "helper"}, name="create_and_execute_turn"
    )
    assert (turn.kind, turn.name) == ("agent", "helper")
    model = facts({"__type__": "async", "stop_reason": "end_of_turn", "output": "Hello"}, name="inference")
    assert (model.kind, roles_and_texts(model.output_messages.messages())) == ("llm", [("assistant", "Hello")])
    tool = facts({"step_id": "x", "tool_name": "look", "input": '{"a": 1}', "output": "b"}, name="tool_execution")
    assert (tool.kind, tool.tool, tool.arguments, tool.result) == ("tool", "look", '{"a": 1}', "b")
    shield = facts(
        {"step_id": "x", "output": '{"violation_level": "error", "user_message": "No."}'}, name="run_shield_guard"
    )
    assert (shield.kind, shield.tool, shield.violation) == ("guardrail", "guard", "No.")
    assert facts({"__type__": "async"}, name="InferenceRouter.chat").kind == ""


def test_langsmith_over_opentelemetry() -> None:
    model = facts(
        {
            "langsmith.span.kind": "llm",
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-4o",
            "langsmith.metadata.lc_agent_name": "helper",
            "gen_ai.prompt": json.dumps({"messages": [[_lc("HumanMessage", "Hi")]]}),
            "gen_ai.completion": json.dumps({"generations": [[{"text": "Yo", "message": _lc("AIMessage", "Yo")}]]}),
        }
    )
    assert (model.kind, model.model, model.agent) == ("llm", "gpt-4o", "helper")
    assert roles_and_texts(model.input_messages.messages()) == [("user", "Hi")]
    assert roles_and_texts(model.output_messages.messages()) == [("assistant", "Yo")]


def _lc(name: str, content: str) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content}}


def test_logfires_own_instrumentation_of_openai() -> None:
    request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
    response = {
        "message": {"role": "assistant", "content": "Yo"},
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }
    model = facts({"request_data": json.dumps(request), "response_data": json.dumps(response)})
    assert (model.kind, model.model, model.usage and model.usage.input_tokens) == ("llm", "gpt-4o", 3)
    assert roles_and_texts(model.output_messages.messages()) == [("assistant", "Yo")]
    assert facts({"logfire.span_type": "pending_span", "gen_ai.operation.name": "chat"}).kind == ""


def test_langfuses_retrievers_and_errors() -> None:
    retriever = facts(
        {
            "langfuse.observation.type": "retriever",
            "langfuse.observation.input": '{"args": ["Paris?"], "kwargs": {}}',
            "langfuse.observation.output": '["Mild.", {"content": "Sunny."}]',
        }
    )
    assert (retriever.query, retriever.documents) == ("Paris?", [{"content": "Mild."}, {"content": "Sunny."}])
    failed = facts(
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.level": "ERROR",
            "langfuse.observation.status_message": "overloaded",
            "langfuse.observation.cost_details": '{"input": 0.001, "output": 0.002}',
        }
    )
    assert failed.error is not None
    assert (failed.error.message, failed.cost_nano) == ("overloaded", 3_000_000)


def test_the_agents_sdks_guardrails_and_rounds() -> None:
    guard = facts(
        {"span_data": {"type": "guardrail", "name": "no_output_secrets", "triggered": True}}, format="openai_agents"
    )
    assert (guard.kind, guard.touchpoint) == ("guardrail", "assistant-output")
    assert guard.violation == "no_output_secrets was triggered."
    custom = {"type": "custom", "name": "turn", "data": {"sdk_span_type": "turn", "turn": 2, "agent_name": "A"}}
    round_ = facts({"span_data": custom}, format="openai_agents")
    assert (round_.kind, round_.agent, round_.extra) == ("chain", "A", {"turn": 2, "agent_name": "A"})
    task = {"type": "custom", "name": "task", "data": {"sdk_span_type": "task", "name": "Weather workflow"}}
    assert (round_.label, facts({"span_data": task}, format="openai_agents").label) == ("turn 2", "Weather workflow")
    handoff = facts({"span_data": {"type": "handoff", "from_agent": "A", "to_agent": "B"}}, format="openai_agents")
    assert (handoff.kind, handoff.label) == ("handoff", "A -> B")


@pytest.mark.parametrize(("type_", "more"), [("str", None), ("City", {"output_type": "City"})])
def test_that_an_agents_sdks_agent_answers_text_goes_unsaid(type_: str, more: dict[str, str] | None) -> None:
    assert (
        facts({"span_data": {"type": "agent", "name": "A", "output_type": type_}}, format="openai_agents").extra == more
    )


def test_a_span_may_speak_two_dialects() -> None:
    model = facts(
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "named first",
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "named second",
            "gen_ai.provider.name": "openai",
            "gen_ai.usage.input_tokens": 7,
        }
    )
    assert (model.sender_kind, model.model, model.provider) == ("LLM", "named first", "openai")
    assert model.usage is not None


def test_servers_of_tools_over_mcp() -> None:
    call = facts({"mcp.method.name": "tools/call", "gen_ai.tool.name": "look"})
    assert (call.kind, call.tool) == ("tool", "look")
    assert facts({"mcp.method.name": "tools/list"}).kind == "mcp"


def test_what_nobody_knows_still_names_a_model_or_a_tool() -> None:
    assert facts({"llm.model_name": "m"}).kind == "llm"
    assert facts({"tool.name": "t"}).kind == "tool"
    assert facts({"http.method": "GET"}).kind == ""
