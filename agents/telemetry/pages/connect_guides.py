"""Guides that connect external agents to this server, one for each framework.

The snippets to copy are in `agents.telemetry.pages.connect_snippets`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_noop

from agents.telemetry.pages import connect_snippets
from agents.telemetry.pages.connect_snippets import CodeSnippet, ServerAddress


@dataclass(frozen=True, slots=True)
class ConnectGuide:
    """The guide for one framework. ``about`` is a sentence on top, ``hints`` are below the snippets; ``session``
    explains how turns get the same session."""

    name: str
    title: str
    about: str
    snippets: Callable[[ServerAddress], Sequence[CodeSnippet]]
    session: str = ""
    hints: tuple[str, ...] = ()


_BY_ATTRIBUTE = gettext_noop(
    "Put the attribute gen_ai.conversation.id on the span of the agent, or on one around it: its value is the session."
)
_BY_THREAD = gettext_noop(
    'Name the thread when the agent is called: {"configurable": {"thread_id": "conversation-1"}}.'
)
_BY_USING = gettext_noop('Call the agent within: with using_session("conversation-1").')
_CUT = gettext_noop(
    "Long conversations have more attributes than OpenTelemetry keeps by default, and lose the oldest: "
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 keeps them."
)
_BY_THEMSELVES = gettext_noop("Sessions are told by themselves.")

GUIDES: tuple[ConnectGuide, ...] = (
    ConnectGuide(
        "opentelemetry",
        "OpenTelemetry",
        gettext_noop("Any language and any framework with an instrumentation that follows the GenAI conventions."),
        connect_snippets.otel,
        _BY_ATTRIBUTE,
        (
            gettext_noop(
                "The words of messages are sent only with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT."
            ),
            gettext_noop("Logs and metrics go to the same address; gRPC is not spoken here."),
        ),
    ),
    ConnectGuide(
        "openai-agents",
        "OpenAI Agents SDK",
        gettext_noop("Its own traces, sent here instead of to OpenAI: two lines before the first run."),
        connect_snippets.openai_agents,
        gettext_noop('Give runs of one conversation the same group: RunConfig(group_id="conversation-1").'),
        (
            gettext_noop("With add_trace_processor in the place of set_trace_processors both get them."),
            gettext_noop(
                "With the Responses model, which is the default, the SDK sends no words: use "
                "OpenAIChatCompletionsModel, or OpenInference's instrumentation."
            ),
        ),
    ),
    ConnectGuide(
        "langsmith",
        "LangChain, LangGraph",
        gettext_noop("LangSmith's own tracer, sent here: no line of code changes."),
        connect_snippets.langsmith,
        _BY_THREAD,
        (gettext_noop('An agent is called by its name: create_agent(…, name="my-agent").'),),
    ),
    ConnectGuide(
        "openinference",
        "LangGraph with OpenInference",
        gettext_noop("OpenInference has the like for many frameworks: only the instrumentor differs."),
        connect_snippets.openinference,
        _BY_THREAD,
        (_CUT,),
    ),
    ConnectGuide(
        "pydantic-ai",
        "Pydantic AI, Logfire",
        gettext_noop("Its own OpenTelemetry spans, by themselves or set up by Logfire."),
        connect_snippets.pydantic_ai,
        gettext_noop('Name the conversation when the agent runs: agent.run(…, conversation_id="conversation-1").'),
    ),
    ConnectGuide(
        "vercel-ai",
        "Vercel AI SDK",
        gettext_noop("Version 7; earlier ones send theirs by experimental_telemetry."),
        connect_snippets.vercel,
        gettext_noop("The SDK names no conversation by itself: enrichSpan puts it on each span."),
    ),
    ConnectGuide(
        "strands",
        "Strands Agents",
        gettext_noop("Its own OpenTelemetry spans."),
        connect_snippets.strands,
        gettext_noop("The trace attribute session.id is the session."),
    ),
    ConnectGuide(
        "agent-framework",
        "Microsoft Agent Framework",
        gettext_noop("Its own OpenTelemetry spans; words are sent where sensitive data is enabled."),
        connect_snippets.agent_framework,
        _BY_ATTRIBUTE,
    ),
    ConnectGuide(
        "smolagents",
        "smolagents",
        gettext_noop("By OpenInference's instrumentation."),
        connect_snippets.smolagents,
        _BY_USING,
        (_CUT,),
    ),
    ConnectGuide(
        "langfuse",
        "Langfuse SDK",
        gettext_noop("From version 3 on it speaks OpenTelemetry; its address and keys are variables."),
        connect_snippets.langfuse,
        gettext_noop('Call the agent within: with propagate_attributes(session_id="conversation-1").'),
    ),
    ConnectGuide(
        "traceloop",
        "Traceloop, OpenLLMetry",
        gettext_noop("Traceloop's SDK, sent here: its address and key are variables."),
        connect_snippets.traceloop,
        gettext_noop("The association property session_id is the session."),
    ),
    ConnectGuide(
        "claude-code",
        "Claude Code",
        gettext_noop("Live by OpenTelemetry; answers of the model are in its session files only."),
        connect_snippets.claude_code,
        _BY_THEMSELVES,
    ),
    ConnectGuide(
        "codex",
        "Codex",
        gettext_noop("Live by OpenTelemetry; answers of the model are in its session files only."),
        connect_snippets.codex,
        _BY_THEMSELVES,
    ),
    ConnectGuide(
        "gemini-cli",
        "Gemini CLI",
        gettext_noop("Live by OpenTelemetry, or from its session files."),
        connect_snippets.gemini,
        _BY_THEMSELVES,
    ),
    ConnectGuide(
        "files",
        gettext_noop("Files"),
        gettext_noop(
            "Sessions of Claude Code, Codex and Gemini CLI, spans as OTLP JSON lines, traces of MLflow, spans of "
            "Phoenix: the format of a file is told from it by itself."
        ),
        connect_snippets.files,
    ),
)
