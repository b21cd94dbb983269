"""OpenInference (Arize): ``openinference.span.kind``, flattened messages, scope ``openinference.instrumentation.*``.

Messages are ``llm.input_messages.N.message.role/content/contents.M.message_content.*/tool_calls.K.tool_call.*``; the
input and output of any span are ``input.value``/``output.value``, often a library's own JSON.
Traps: a model's ``finish_reason`` may say ``stop`` beside a call; texts come twice (content and contents); numbering
starts late where attributes were cut; a root AGENT without ``agent.name`` is the workflow; AGENT spans repeat their
models' tokens; a message may have a role and no text, which is then in ``input.value``; LangChain's tools have
``input.value`` as a Python repr; hidden texts are ``__REDACTED__``.
"""

from __future__ import annotations

import re
from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import json_of, mapping, text
from agents.telemetry.reading.dialects import crewai, llama_index, source
from agents.telemetry.reading.dialects.langchain import read_tool_message
from agents.telemetry.reading.dialects.openai_agents import reports_failures
from agents.telemetry.reading.dialects.reader import EVERY, But, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import HistoryMessage
from agents.telemetry.reading.messages import HIDDEN, messages_of
from agents.telemetry.reading.sanitize import dicts
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.unflatten import unflatten

ADVICE = (
    "The sender hides the words. Unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS where the agent runs."
)
_ID = re.compile(r'\{"id": ?"([^"]{1,200})"')
_LANGCHAIN_ID = re.compile(r'"response_metadata": ?\{"id": ?"([^"]{1,200})"')
_INPUT, _OUTPUT = "llm.input_messages.", "llm.output_messages."


def _kind(sender_kind: str, span: Span) -> str:
    if sender_kind == "TOOL" and span.name.startswith("handoff to ") and "openai_agents" in span.scope:
        return kinds.HANDOFF
    if sender_kind == "LLM" and llama_index.prepares_call(span):
        return kinds.CHAIN
    return kinds.kind_of(sender_kind)


def _graph_agent(metadata: Any) -> str:
    """Return the agent's name in the metadata of a graph's span."""
    if isinstance(metadata, str) and "lc_agent_name" in metadata:
        return text(mapping(metadata).get("lc_agent_name"))
    return ""


def _node_name(values: Values, span: Span) -> str:
    """Return the name of an agent whose span is called after it and one of its methods (CrewAI, AutoGen)."""
    node = text(values.get("graph.node.id"))
    return node if node and span.name.startswith(f"{node}.") else ""


def _visible(span: Span) -> Values:
    """Return the attributes without an input or output that is hidden."""
    attributes = span.attributes
    hidden = [name for name in ("input.value", "output.value") if attributes.get(name) == HIDDEN]
    return {name: value for name, value in attributes.items() if name not in hidden} if hidden else attributes


def _answer_id(value: Any) -> str:
    """Return the id in an answer of a model's endpoint, or in LangChain's copy of it."""
    match = _ID.match(value) or _LANGCHAIN_ID.search(value) if isinstance(value, str) else None
    return match[1] if match else ""


def _advice(values: Values, span: Span) -> str:
    return "" if values is span.attributes else ADVICE


def _arguments(value: Any) -> Any:
    arguments = json_of(value)
    if isinstance(arguments, dict) and isinstance(arguments.get("kwargs"), dict):
        return arguments["kwargs"] or arguments.get("args")  # smolagents
    return arguments


def _documents(values: Values, _: Span) -> list[dict[str, Any]]:
    reranked = "reranker.query" in values
    rows = unflatten(values, "reranker.output_documents." if reranked else "retrieval.documents.")
    return [
        {**row, "metadata": json_of(row["metadata"])} if "metadata" in row else row
        for row in _objects(rows, "document")
    ]


def _tools(values: Values, _: Span) -> list[Any] | None:
    if "llm.tools.0.tool.json_schema" not in values:
        return None
    tools = _objects(unflatten(values, "llm.tools."), "tool")
    return [tool["json_schema"] for tool in tools if "json_schema" in tool]


def _objects(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row[name] for row in rows if isinstance(row.get(name), dict)]


def _input_messages(values: Values) -> list[HistoryMessage]:
    """Read a history; where it has only roles and no text, the messages of ``input.value`` are used."""
    messages = _unflattened_messages(values, _INPUT)
    if messages and all(message.hidden for message in messages) and values.get("input.value") not in (None, HIDDEN):
        from_input = messages_of(values["input.value"])
        return from_input if any(message.text for message in from_input) else messages
    return messages


def _unflattened_messages(values: Values, prefix: str) -> list[HistoryMessage]:
    rows = _objects(unflatten(values, prefix), "message")
    return [message for row in rows for message in messages_of(_chat_message(row))]


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
        shaped["tool_calls"] = _objects(dicts(calls), "tool_call")
    if "function_call_name" in value:
        shaped["tool_calls"] = [
            {"name": value["function_call_name"], "arguments": value.get("function_call_arguments_json")}
        ]
    if "tool_call_id" in value:
        shaped["tool_call_id"] = value["tool_call_id"]
        shaped.setdefault("content", None)
    return shaped


def _part(value: Any) -> Any:
    if not isinstance(value, dict) or value.get("type") == "tool_use":  # a call, which stands beside the contents, too
        return None
    if value.get("type") == "reasoning" and "text" in value:
        return {"type": "reasoning", "text": value["text"]}
    return value


_RETRIEVERS = (kinds.RETRIEVER, "reranker")
_INPUT_MESSAGES = source.gathered(_INPUT, _input_messages)
_OUTPUT_MESSAGES = source.gathered(_OUTPUT, lambda values: _unflattened_messages(values, _OUTPUT))

DIALECT = Dialect(
    sender_kind="openinference.span.kind",
    kinds=_kind,
    values=_visible,
    facts={
        EVERY: {
            "agent": ("agent.name", source.converted(_graph_agent, "metadata")),
            "input": ("input.value", source.converted(crewai.question, "crew_tasks")),
            "output": "output.value",
            "advice": _advice,
            "reports_failures": reports_failures,
        },
        kinds.AGENT: {"name": ("agent.name", _node_name)},
        (kinds.LLM, kinds.EMBEDDING, kinds.AGENT): {
            "model": ("llm.response.model_name", "llm.model_name", "llm.request.model_name", "embedding.model_name"),
            "provider": ("llm.provider", "llm.system"),
            "finish": "llm.finish_reason",
            "cost_nano": "llm.cost.total",
            "usage": source.tokens(
                input="llm.token_count.prompt",
                output="llm.token_count.completion",
                cached="llm.token_count.prompt_details.cache_read",
                reasoning="llm.token_count.completion_details.reasoning",
                written="llm.token_count.prompt_details.cache_write",
            ),
        },
        kinds.TOOL: {
            "tool": ("tool.name", lambda _, span: span.name.removesuffix(".__call__")),
            "call_id": ("tool.id", "tool_call.id"),
            "arguments": source.converted(_arguments, "input.value"),
            "result": source.converted(llama_index.tool_result, "output.value"),
        },
        _RETRIEVERS: {"query": ("reranker.query", "input.value"), "documents": _documents},
        But(kinds.TOOL, *_RETRIEVERS): {
            "input_messages": _INPUT_MESSAGES,
            "output_messages": _OUTPUT_MESSAGES,
            "tools": _tools,
        },
        kinds.LLM: {
            "input_messages": (_INPUT_MESSAGES, "input.value"),
            "output_messages": (_OUTPUT_MESSAGES, "output.value"),
            "answer_id": source.converted(_answer_id, "output.value"),
        },
    },
    finish={kinds.TOOL: read_tool_message},
)
