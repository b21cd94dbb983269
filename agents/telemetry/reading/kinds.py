"""What spans are: our kinds, and what they become as steps.

``llm`` → inference, ``tool`` → tool_execution, ``guardrail`` → shield_call, ``retriever`` → memory_retrieval; all
others are steps of type ``other`` with their kind. '' is a span that is none of an agent's doings.
"""

from __future__ import annotations

from agents.record.schemas.events import StepType

LLM, TOOL, AGENT, WORKFLOW, CHAIN = "llm", "tool", "agent", "workflow", "chain"
RETRIEVER, GUARDRAIL, HANDOFF = "retriever", "guardrail", "handoff"
EMBEDDING = "embedding"
WRAPPER = "llm_wrapper"
"""A model's span around another one that tells of the same call."""

TOPS = frozenset({AGENT, WORKFLOW, CHAIN})
"""What a whole turn may be: such a span on top is the turn itself, not a step of it."""

FRAMES = frozenset({WORKFLOW, CHAIN})
"""What only holds others together."""

STEP_TYPES: dict[str, StepType] = {
    LLM: "inference",
    TOOL: "tool_execution",
    GUARDRAIL: "shield_call",
    RETRIEVER: "memory_retrieval",
}

_WORDS = {
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
BY_ALIAS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
"""Words that several dialects share, in lower case."""


def kind_of(word: str) -> str:
    """Our kind for a sender's word; one that is not known yet is kept as it is, in lower case."""
    small = word.lower()
    return BY_ALIAS.get(small) or small[:60]
