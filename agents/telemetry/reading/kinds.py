"""The kinds of spans, and the step types that they become.

``llm`` → inference, ``tool`` → tool_execution, ``guardrail`` → shield_call, ``retriever`` → memory_retrieval; all
others are steps of type ``other`` with their kind. '' is a span that is no operation of an agent.
"""

from __future__ import annotations

from agents.record.schemas.events import StepType

LLM, TOOL, AGENT, WORKFLOW, CHAIN = "llm", "tool", "agent", "workflow", "chain"
RETRIEVER, GUARDRAIL, HANDOFF = "retriever", "guardrail", "handoff"
EMBEDDING = "embedding"
WRAPPER = "llm_wrapper"
"""A model's span around another one that reports the same call."""

TOPS = frozenset({AGENT, WORKFLOW, CHAIN})
"""Kinds that can be a whole turn: such a span at the top is the turn itself, not a step of it."""

FRAMES = frozenset({WORKFLOW, CHAIN})
"""Kinds that only group other spans."""

STEP_TYPES: dict[str, StepType] = {
    LLM: "inference",
    TOOL: "tool_execution",
    GUARDRAIL: "shield_call",
    RETRIEVER: "memory_retrieval",
}

_ALIASES = {
    LLM: "llm generation chat_model response",
    TOOL: "tool function mcp_tool",
    AGENT: "agent",
    WORKFLOW: "workflow",
    CHAIN: "chain task turn step span parser",
    RETRIEVER: "retriever",
    GUARDRAIL: "guardrail",
    HANDOFF: "handoff",
    EMBEDDING: "embedding embeddings",
    "reranker": "reranker rerank",
    "prompt": "prompt",
    "evaluator": "evaluator evaluation",
    "event": "event",
    "custom": "custom",
    "memory": "memory",
    "mcp_tools": "mcp_tools mcp_list_tools",
    "transcription": "transcription",
    "speech": "speech",
    "speech_group": "speech_group",
}
BY_ALIAS = {alias: kind for kind, aliases in _ALIASES.items() for alias in aliases.split()}
"""Our kind for names that several dialects share, in lower case."""


def kind_of(sender_kind: str) -> str:
    """Return our kind for a sender's name; an unknown name is returned in lower case."""
    lowered = sender_kind.lower()
    return BY_ALIAS.get(lowered) or lowered[:60]
