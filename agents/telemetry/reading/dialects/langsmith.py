"""LangSmith: its own runs (``run_type``, ``inputs``, ``outputs``, ``extra``), and the spans of its OpenTelemetry mode.

Inputs and outputs are LangChain's objects, written in one of its two ways (`messages`). A run's ``extra.metadata`` has
the thread, the agent's name (``lc_agent_name``) and ``usage_metadata``; ``extra.tool_call_id`` the call. Over
OpenTelemetry the same is in ``langsmith.span.kind``, ``langsmith.metadata.*``, ``gen_ai.prompt``, ``.completion``.
Traps: ``session_name`` is a project, no session; a graph is a ``chain`` like every node in it, and only
``lc_agent_name`` tells which are agents; errors hold a whole traceback.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import json_of, mapping, text
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.langchain import read_tool_message
from agents.telemetry.reading.dialects.langfuse import documents_of, query_of
from agents.telemetry.reading.dialects.reader import EVERY, But, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.spans import Span


def _arguments(value: Any) -> Any:
    inputs = mapping(value)
    return inputs.get("input", value) if inputs.keys() <= {"input"} else value


def _result(value: Any) -> Any:
    output = json_of(value)
    return output.get("output", value) if isinstance(output, dict) and output else None


_GENERIC = frozenset({"", "LangGraph", "RunnableSequence", "RunnableLambda", "RunnableParallel", "AgentExecutor"})
"""Names of runs that nobody has named."""
_NO_PROJECT = frozenset({"", "default"})


def _program(values: Values, span: Span) -> str:
    """Return the name of a graph that is no part of another, else that of its project."""
    return _graph_or_project(span, text(values.get("run_type")), text(values.get("session_name")))


def _program_of_span(values: Values, span: Span) -> str:
    return _graph_or_project(
        span, text(values.get("langsmith.span.kind")), text(values.get("langsmith.trace.session_name"))
    )


def _graph_or_project(span: Span, kind: str, project: str) -> str:
    if span.parent:
        return ""
    graph = span.name if kind == "chain" else ""
    return graph if graph not in _GENERIC or project in _NO_PROJECT else project


RUNS = Dialect(
    sender_kind="run_type",
    facts={
        EVERY: {
            "agent": "extra > metadata > lc_agent_name",
            "program": _program,
            "error": source.converted(lambda value: error_of(value) if isinstance(value, str) else None, "error"),
        },
        kinds.LLM: {
            "model": (
                "outputs > llm_output > model_name",
                "outputs > llm_output > model",
                "extra > metadata > ls_model_name",
                "extra > invocation_params > model",
                "extra > invocation_params > model_name",
            ),
            "provider": ("extra > metadata > ls_provider", "outputs > llm_output > model_provider"),
            "usage": (
                "extra > metadata > usage_metadata",
                "outputs > llm_output > token_usage",
                "outputs > usage_metadata",
                source.tokens(  # of runs that were exported
                    input="prompt_tokens",
                    output="completion_tokens",
                    cached="prompt_token_details > cache_read",
                    reasoning="completion_token_details > reasoning",
                ),
            ),
            "cost_nano": "total_cost",
            "input_messages": "inputs",
            "output_messages": "outputs",
            "tools": "extra > invocation_params > tools",
        },
        kinds.TOOL: {
            "tool": source.span_name,
            "call_id": "extra > tool_call_id",
            "arguments": source.converted(_arguments, "inputs"),
            "result": source.converted(_result, "outputs"),
        },
        kinds.RETRIEVER: {
            "query": source.converted(query_of, "inputs"),
            "documents": source.converted(documents_of, "outputs"),
        },
        But(kinds.LLM, kinds.TOOL, kinds.RETRIEVER): {
            "input": "inputs",
            "output": source.converted(lambda value: value or None, "outputs"),
        },
    },
    finish={kinds.TOOL: read_tool_message},
)

DIALECT = Dialect(
    sender_kind="langsmith.span.kind",
    facts={
        EVERY: {"agent": "langsmith.metadata.lc_agent_name", "program": _program_of_span},
        kinds.LLM: {"input_messages": "gen_ai.prompt", "output_messages": "gen_ai.completion"},
        kinds.TOOL: {
            "tool": ("langsmith.trace.name", "gen_ai.tool.name", source.span_name),
            "arguments": source.converted(_arguments, "gen_ai.prompt"),
            "result": source.converted(_result, "gen_ai.completion"),
        },
        But(kinds.LLM, kinds.TOOL): {
            "input": "gen_ai.prompt",
            "output": "gen_ai.completion",
        },
    },
    finish={kinds.TOOL: read_tool_message},
)
"""Spans of LangSmith's OpenTelemetry mode."""
