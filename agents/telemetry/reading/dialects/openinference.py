"""OpenInference (Arize): ``openinference.span.kind``, flattened messages, scope ``openinference.instrumentation.*``.

Messages are ``llm.input_messages.N.message.role/content/contents.M.message_content.*/tool_calls.K.tool_call.*``; what
went in and out of any span is ``input.value``/``output.value``, often a library's own JSON.
Traps: a model's ``finish_reason`` may say ``stop`` beside a call; texts come twice (content and contents); numbering
starts late where attributes were cut; a root AGENT without ``agent.name`` is the workflow; AGENT spans repeat their
models' tokens; a message may have a role and no words, which are then in ``input.value``; LangChain's tools have
``input.value`` as a Python repr; hidden words are ``__REDACTED__``.
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
    word = text(attributes.get("openinference.span.kind"))
    if not word:
        return None
    facts = SpanFacts(kind=_kind(word, span), sender_kind=word, reports_failures="openai_agents" not in span.scope)
    _who(facts, attributes)
    _values(facts, attributes)
    if facts.kind in (kinds.LLM, "embedding", kinds.AGENT):
        _model(facts, attributes)
    if facts.kind == kinds.TOOL:
        _tool(facts, attributes, span)
    elif facts.kind == kinds.RETRIEVER or word == "RERANKER":
        _retrieval(facts, attributes)
    else:
        _messages(facts, attributes)
    return facts


def _kind(word: str, span: Span) -> str:
    if word == "TOOL" and span.name.startswith("handoff to ") and "openai_agents" in span.scope:
        return kinds.HANDOFF
    return kinds.kind_of(word)


def _who(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.agent = text(attributes.get("agent.name"))
    if facts.kind == kinds.AGENT:
        facts.name = facts.agent
    if not facts.agent and isinstance(attributes.get("metadata"), str) and "lc_agent_name" in attributes["metadata"]:
        facts.agent = text(mapping(attributes["metadata"]).get("lc_agent_name"))


def _values(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.input, facts.output = attributes.get("input.value"), attributes.get("output.value")
    if HIDDEN in (facts.input, facts.output):
        facts.advice = ADVICE
        facts.input = None if facts.input == HIDDEN else facts.input
        facts.output = None if facts.output == HIDDEN else facts.output


def _model(facts: SpanFacts, attributes: dict[str, Any]) -> None:
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


def _tool(facts: SpanFacts, attributes: dict[str, Any], span: Span) -> None:
    facts.tool = text(attributes.get("tool.name")) or span.name
    facts.call_id = first_text(attributes, "tool.id", "tool_call.id")
    given = json_of(facts.input)
    if isinstance(given, dict) and "kwargs" in given and isinstance(given["kwargs"], dict):
        given = given["kwargs"] or given.get("args")  # smolagents
    facts.arguments = given
    facts.result = facts.output
    if isinstance(facts.output, str) and "tool_call_id" in facts.output:
        answer_of_tool(facts, facts.output)


def _retrieval(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    reranked = attributes.get("reranker.query")
    facts.query = text(reranked) or text(facts.input)
    prefix = "retrieval.documents." if reranked is None else "reranker.output_documents."
    found = unflatten(attributes, prefix)
    facts.documents = [_document(one["document"]) for one in found if isinstance(one.get("document"), dict)]


def _document(value: dict[str, Any]) -> dict[str, Any]:
    return {name: json_of(one) if name == "metadata" else one for name, one in value.items()}


def _messages(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    has_given = has_answer = False
    for name in attributes:
        if name.startswith("llm.input_messages."):
            has_given = True
        elif name.startswith("llm.output_messages."):
            has_answer = True
        elif name == "llm.tools.0.tool.json_schema":
            facts.tools = attributes
    if has_given:
        facts.input_messages = LazyMessages(attributes, _given)
    elif facts.kind == kinds.LLM and facts.input is not None:
        facts.input_messages = LazyMessages(facts.input, read_input)
    if has_answer:
        facts.output_messages = LazyMessages(attributes, _answer)
    elif facts.kind == kinds.LLM and facts.output is not None:
        facts.output_messages = LazyMessages(facts.output, read_output)
    if facts.tools is attributes:
        facts.tools = _tools(attributes)


def _tools(attributes: dict[str, Any]) -> list[Any]:
    found = unflatten(attributes, "llm.tools.")
    return [
        one["tool"]["json_schema"]
        for one in found
        if isinstance(one.get("tool"), dict) and "json_schema" in one["tool"]
    ]


def _given(attributes: dict[str, Any]) -> list[HistoryMessage]:
    """A history; where it has a user's role and no words, these are the input's."""
    told = _flattened(attributes, "llm.input_messages.")
    if told and all(one.hidden for one in told) and attributes.get("input.value") not in (None, HIDDEN):
        better = messages_of(attributes["input.value"])
        return better if any(one.text for one in better) else told
    return told


def _answer(attributes: dict[str, Any]) -> list[HistoryMessage]:
    return _flattened(attributes, "llm.output_messages.")


def _flattened(attributes: dict[str, Any], prefix: str) -> list[HistoryMessage]:
    found: list[HistoryMessage] = []
    for one in unflatten(attributes, prefix):
        value = one.get("message")
        if isinstance(value, dict):
            found.extend(messages_of(_shaped(value)))
    return found


def _shaped(value: dict[str, Any]) -> dict[str, Any]:
    """A message in Chat Completions' shape."""
    shaped: dict[str, Any] = {"role": value.get("role", "user")}
    contents = value.get("contents")
    if isinstance(contents, list):
        shaped["content"] = [_part(one.get("message_content")) for one in contents if isinstance(one, dict)]
    if value.get("content") is not None and not any(map(bool, shaped.get("content", ()))):
        shaped["content"] = value["content"]
    calls = value.get("tool_calls")
    if isinstance(calls, list):
        shaped["tool_calls"] = [one["tool_call"] for one in calls if isinstance(one.get("tool_call"), dict)]
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
