"""OpenInference (Arize): ``openinference.span.kind``, flattened messages, scope ``openinference.instrumentation.*``.

Messages are ``llm.input_messages.N.message.role/content/contents.M.message_content.*/tool_calls.K.tool_call.*``; the
input and output of any span are ``input.value``/``output.value``, often a library's own JSON.
Traps: a model's ``finish_reason`` may say ``stop`` beside a call; texts come twice (content and contents); numbering
starts late where attributes were cut; a root AGENT without ``agent.name`` is the workflow; AGENT spans repeat their
models' tokens; a message may have a role and no text, which is then in ``input.value``; LangChain's tools have
``input.value`` as a Python repr; hidden texts are ``__REDACTED__``.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import count, first_text, json_of, mapping, nano_dollars, text
from agents.telemetry.reading.dialects.langchain import answer_of_tool
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.facts import HistoryMessage, LazyMessages, SpanFacts
from agents.telemetry.reading.messages import HIDDEN, messages_of, read_input, read_output
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.unflatten import unflatten

ADVICE = (
    "The sender hides the words. Unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS where the agent runs."
)


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    sender_kind = text(attributes.get("openinference.span.kind"))
    if not sender_kind:
        return None
    facts = SpanFacts(
        kind=_kind(sender_kind, span), sender_kind=sender_kind, reports_failures="openai_agents" not in span.scope
    )
    _fill_names(facts, attributes)
    _fill_values(facts, attributes)
    if facts.kind in (kinds.LLM, "embedding", kinds.AGENT):
        _fill_model(facts, attributes)
    if facts.kind == kinds.TOOL:
        _fill_tool(facts, attributes, span)
    elif facts.kind == kinds.RETRIEVER or sender_kind == "RERANKER":
        _fill_retrieval(facts, attributes)
    else:
        _fill_messages(facts, attributes)
    return facts


def _kind(sender_kind: str, span: Span) -> str:
    if sender_kind == "TOOL" and span.name.startswith("handoff to ") and "openai_agents" in span.scope:
        return kinds.HANDOFF
    return kinds.kind_of(sender_kind)


def _fill_names(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.agent = text(attributes.get("agent.name"))
    if facts.kind == kinds.AGENT:
        facts.name = facts.agent
    if not facts.agent and isinstance(attributes.get("metadata"), str) and "lc_agent_name" in attributes["metadata"]:
        facts.agent = text(mapping(attributes["metadata"]).get("lc_agent_name"))


def _fill_values(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.input, facts.output = attributes.get("input.value"), attributes.get("output.value")
    if HIDDEN in (facts.input, facts.output):
        facts.advice = ADVICE
        facts.input = None if facts.input == HIDDEN else facts.input
        facts.output = None if facts.output == HIDDEN else facts.output


def _fill_model(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.model = first_text(
        attributes, "llm.response.model_name", "llm.model_name", "llm.request.model_name", "embedding.model_name"
    )
    facts.provider = first_text(attributes, "llm.provider", "llm.system")
    facts.finish = text(attributes.get("llm.finish_reason"))
    facts.cost_nano = nano_dollars(attributes.get("llm.cost.total"))
    facts.usage = token_usage(
        count(attributes.get("llm.token_count.prompt")),
        count(attributes.get("llm.token_count.completion")),
        count(attributes.get("llm.token_count.prompt_details.cache_read")),
        count(attributes.get("llm.token_count.completion_details.reasoning")),
        count(attributes.get("llm.token_count.prompt_details.cache_write")),
    )


def _fill_tool(facts: SpanFacts, attributes: dict[str, Any], span: Span) -> None:
    facts.tool = text(attributes.get("tool.name")) or span.name
    facts.call_id = first_text(attributes, "tool.id", "tool_call.id")
    arguments = json_of(facts.input)
    if isinstance(arguments, dict) and "kwargs" in arguments and isinstance(arguments["kwargs"], dict):
        arguments = arguments["kwargs"] or arguments.get("args")  # smolagents
    facts.arguments = arguments
    facts.result = facts.output
    if isinstance(facts.output, str) and "tool_call_id" in facts.output:
        answer_of_tool(facts, facts.output)


def _fill_retrieval(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    reranked = attributes.get("reranker.query")
    facts.query = text(reranked) or text(facts.input)
    prefix = "retrieval.documents." if reranked is None else "reranker.output_documents."
    rows = unflatten(attributes, prefix)
    facts.documents = [_document(row["document"]) for row in rows if isinstance(row.get("document"), dict)]


def _document(value: dict[str, Any]) -> dict[str, Any]:
    return {name: json_of(field) if name == "metadata" else field for name, field in value.items()}


def _fill_messages(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    has_input = has_output = False
    for name in attributes:
        if name.startswith("llm.input_messages."):
            has_input = True
        elif name.startswith("llm.output_messages."):
            has_output = True
        elif name == "llm.tools.0.tool.json_schema":
            facts.tools = attributes
    if has_input:
        facts.input_messages = LazyMessages(attributes, _input_messages)
    elif facts.kind == kinds.LLM and facts.input is not None:
        facts.input_messages = LazyMessages(facts.input, read_input)
    if has_output:
        facts.output_messages = LazyMessages(attributes, _output_messages)
    elif facts.kind == kinds.LLM and facts.output is not None:
        facts.output_messages = LazyMessages(facts.output, read_output)
    if facts.tools is attributes:
        facts.tools = _tools(attributes)


def _tools(attributes: dict[str, Any]) -> list[Any]:
    rows = unflatten(attributes, "llm.tools.")
    return [
        row["tool"]["json_schema"] for row in rows if isinstance(row.get("tool"), dict) and "json_schema" in row["tool"]
    ]


def _input_messages(attributes: dict[str, Any]) -> list[HistoryMessage]:
    """Read a history; where it has only roles and no text, the messages of ``input.value`` are used."""
    messages = _unflattened_messages(attributes, "llm.input_messages.")
    if messages and all(message.hidden for message in messages) and attributes.get("input.value") not in (None, HIDDEN):
        from_input = messages_of(attributes["input.value"])
        return from_input if any(message.text for message in from_input) else messages
    return messages


def _output_messages(attributes: dict[str, Any]) -> list[HistoryMessage]:
    return _unflattened_messages(attributes, "llm.output_messages.")


def _unflattened_messages(attributes: dict[str, Any], prefix: str) -> list[HistoryMessage]:
    messages: list[HistoryMessage] = []
    for row in unflatten(attributes, prefix):
        value = row.get("message")
        if isinstance(value, dict):
            messages.extend(messages_of(_chat_message(value)))
    return messages


def _chat_message(value: dict[str, Any]) -> dict[str, Any]:
    """Convert a message to Chat Completions' shape."""
    shaped: dict[str, Any] = {"role": value.get("role", "user")}
    contents = value.get("contents")
    if isinstance(contents, list):
        shaped["content"] = [_part(part.get("message_content")) for part in contents if isinstance(part, dict)]
    if value.get("content") is not None and not any(map(bool, shaped.get("content", ()))):
        shaped["content"] = value["content"]
    calls = value.get("tool_calls")
    if isinstance(calls, list):
        shaped["tool_calls"] = [call["tool_call"] for call in calls if isinstance(call.get("tool_call"), dict)]
    if "function_call_name" in value:
        shaped["tool_calls"] = [
            {"name": value["function_call_name"], "arguments": value.get("function_call_arguments_json")}
        ]
    if "tool_call_id" in value:
        shaped["tool_call_id"] = value["tool_call_id"]
        shaped.setdefault("content", None)
    return shaped


def _part(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    if value.get("type") == "reasoning" and "text" in value:
        return {"type": "reasoning", "text": value["text"]}
    return value
