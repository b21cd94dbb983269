"""Snippets to copy that make external agents report to this server: code, which is not translated."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_noop

SHELL, PYTHON = gettext_noop("Shell"), "Python"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of this server: its base URL without a slash, and the key to send, '' where none is needed."""

    base: str
    key: str

    @property
    def password(self) -> str:
        """The key, or a stand-in for clients that send nothing without one."""
        return self.key or "none"


@dataclass(frozen=True, slots=True)
class CodeSnippet:
    title: str
    code: str


def otel_environment(here: ServerAddress, *more: str) -> CodeSnippet:
    """The environment variables that OpenTelemetry's exporters of every language read."""
    lines = [
        f"OTEL_EXPORTER_OTLP_ENDPOINT={here.base}",
        "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        *([f"OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20{here.key}"] if here.key else []),
        "OTEL_SERVICE_NAME=my-agent",
        *more,
    ]
    return CodeSnippet(SHELL, export_lines(*lines))


def export_lines(*lines: str) -> str:
    return "\n".join(f"export {line}" for line in lines)


PROVIDER = """\
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
"""
"""Sends the spans of Python's instrumentations to the endpoint of the environment."""
PACKAGES = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only"
ATTRIBUTES = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000"


def pip_install(*packages: str) -> CodeSnippet:
    return CodeSnippet(SHELL, f"pip install {' '.join(packages)}")


def otel(here: ServerAddress) -> list[CodeSnippet]:
    return [
        pip_install(PACKAGES),
        otel_environment(here, CAPTURE),
        CodeSnippet(PYTHON, PROVIDER),
        CodeSnippet(gettext_noop("A first span, without an agent"), first_span(here)),
    ]


def first_span(here: ServerAddress) -> str:
    """A command that reports a turn: only a shell and curl are needed."""
    header = f" -H 'authorization: Bearer {here.key}'" if here.key else ""
    return f"""\
NOW=$(date +%s)
TRACE=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n')
curl -sS {here.base}/v1/traces -H 'content-type: application/json'{header} -d @- <<END
{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{{
  "traceId": "$TRACE", "spanId": "0000000000000001", "name": "hello",
  "startTimeUnixNano": "${{NOW}}000000000", "endTimeUnixNano": "${{NOW}}500000000",
  "attributes": [
    {{"key": "openinference.span.kind", "value": {{"stringValue": "AGENT"}}}},
    {{"key": "agent.name", "value": {{"stringValue": "hello"}}}},
    {{"key": "input.value", "value": {{"stringValue": "Hello!"}}}},
    {{"key": "output.value", "value": {{"stringValue": "Hello to you."}}}}
  ]
}}]}}]}}]}}
END"""


def openai_agents(here: ServerAddress) -> list[CodeSnippet]:
    code = f"""\
from agents import set_trace_processors
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor

exporter = BackendSpanExporter(endpoint="{here.base}/v1/traces/ingest", api_key="{here.password}")
set_trace_processors([BatchTraceProcessor(exporter)])
"""
    return [CodeSnippet(PYTHON, code)]


def langsmith(here: ServerAddress) -> list[CodeSnippet]:
    lines = export_lines(
        "LANGSMITH_TRACING=true",
        f"LANGSMITH_ENDPOINT={here.base}/langsmith",
        f"LANGSMITH_API_KEY={here.password}",
        "LANGSMITH_PROJECT=my-agent",
    )
    return [CodeSnippet(SHELL, lines)]


def openinference(here: ServerAddress) -> list[CodeSnippet]:
    code = f"""\
{PROVIDER}
from openinference.instrumentation.langchain import LangChainInstrumentor

LangChainInstrumentor().instrument(tracer_provider=provider)
"""
    return [
        pip_install("openinference-instrumentation-langchain", PACKAGES),
        otel_environment(here, ATTRIBUTES),
        CodeSnippet(PYTHON, code),
    ]


def pydantic_ai(here: ServerAddress) -> list[CodeSnippet]:
    code = f"""\
{PROVIDER}
from pydantic_ai import Agent

Agent.instrument_all()
"""
    logfire = """\
import logfire

logfire.configure(send_to_logfire=False)
logfire.instrument_pydantic_ai()
"""
    return [
        pip_install(PACKAGES),
        otel_environment(here),
        CodeSnippet(PYTHON, code),
        pip_install("logfire"),
        CodeSnippet(gettext_noop("Python, with Logfire instead"), logfire),
    ]


def vercel(here: ServerAddress) -> list[CodeSnippet]:
    packages = "@ai-sdk/otel @opentelemetry/sdk-node @opentelemetry/exporter-trace-otlp-proto"
    code = """\
import { OpenTelemetry } from '@ai-sdk/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { registerTelemetry } from 'ai';

new NodeSDK({ traceExporter: new OTLPTraceExporter() }).start();
registerTelemetry(new OpenTelemetry({
  enrichSpan: () => ({ 'gen_ai.conversation.id': conversationId }),
}));

// and with each call: telemetry: { isEnabled: true, functionId: 'my-agent' }
"""
    return [CodeSnippet(SHELL, f"npm install {packages}"), otel_environment(here), CodeSnippet("JavaScript", code)]


def strands(here: ServerAddress) -> list[CodeSnippet]:
    code = f"""\
{PROVIDER}
from strands import Agent

agent = Agent(name="my-agent", trace_attributes={{"session.id": "conversation-1"}})
"""
    return [pip_install("'strands-agents[otel]'", PACKAGES), otel_environment(here), CodeSnippet(PYTHON, code)]


def agent_framework(here: ServerAddress) -> list[CodeSnippet]:
    code = f"""\
{PROVIDER}
from agent_framework import observability

observability.enable_instrumentation(enable_sensitive_data=True)
tracer = trace.get_tracer("my-agent")


async def answer(agent, text, session):
    with tracer.start_as_current_span("turn", attributes={{"gen_ai.conversation.id": "conversation-1"}}):
        return await agent.run(text, session=session)
"""
    return [pip_install("agent-framework-core", PACKAGES), otel_environment(here), CodeSnippet(PYTHON, code)]


def smolagents(here: ServerAddress) -> list[CodeSnippet]:
    code = f"""\
{PROVIDER}
from openinference.instrumentation import using_session
from openinference.instrumentation.smolagents import SmolagentsInstrumentor

SmolagentsInstrumentor().instrument(tracer_provider=provider)

with using_session("conversation-1"):
    agent.run("Hello!")
"""
    return [
        pip_install("openinference-instrumentation-smolagents", PACKAGES),
        otel_environment(here, ATTRIBUTES),
        CodeSnippet(PYTHON, code),
    ]


def langfuse(here: ServerAddress) -> list[CodeSnippet]:
    lines = export_lines(
        f"LANGFUSE_BASE_URL={here.base}",
        f"LANGFUSE_HOST={here.base}",
        "LANGFUSE_PUBLIC_KEY=my-agent",
        f"LANGFUSE_SECRET_KEY={here.password}",
    )
    code = """\
from langfuse import observe, propagate_attributes


@observe(as_type="agent", name="my-agent")
def answer(text):
    ...  # what calls the model


with propagate_attributes(session_id="conversation-1"):
    answer("Hello!")
"""
    return [pip_install("langfuse"), CodeSnippet(SHELL, lines), CodeSnippet(PYTHON, code)]


def traceloop(here: ServerAddress) -> list[CodeSnippet]:
    lines = export_lines(
        f"TRACELOOP_BASE_URL={here.base}",
        f"TRACELOOP_API_KEY={here.password}",
        "TRACELOOP_METRICS_ENABLED=false",
        "TRACELOOP_TELEMETRY=false",
    )
    code = """\
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent

Traceloop.init(app_name="my-agent")


@agent(name="my-agent")
def answer(text):
    ...  # what calls the model


Traceloop.set_association_properties({"session_id": "conversation-1"})
answer("Hello!")
"""
    return [pip_install("traceloop-sdk", "httpx"), CodeSnippet(SHELL, lines), CodeSnippet(PYTHON, code)]


def claude_code(here: ServerAddress) -> list[CodeSnippet]:
    switches = (
        "CLAUDE_CODE_ENABLE_TELEMETRY=1",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1",
        "OTEL_TRACES_EXPORTER=otlp",
        "OTEL_LOGS_EXPORTER=otlp",
        "OTEL_LOG_USER_PROMPTS=1",
        "OTEL_LOG_TOOL_DETAILS=1",
        "OTEL_LOG_TOOL_CONTENT=1",
    )
    return [otel_environment(here, *switches), import_command("~/.claude/projects")]


def codex(here: ServerAddress) -> list[CodeSnippet]:
    header = f', headers = {{ "authorization" = "Bearer {here.key}" }}' if here.key else ""
    way = f'protocol = "binary"{header}'
    code = f"""\
[otel]
log_user_prompt = true
exporter = {{ otlp-http = {{ endpoint = "{here.base}/v1/logs", {way} }} }}
trace_exporter = {{ otlp-http = {{ endpoint = "{here.base}/v1/traces", {way} }} }}
"""
    return [CodeSnippet("~/.codex/config.toml", code), import_command("~/.codex/sessions")]


def gemini(here: ServerAddress) -> list[CodeSnippet]:
    code = f"""\
{{
  "telemetry": {{
    "enabled": true,
    "target": "local",
    "otlpEndpoint": "{here.base}",
    "otlpProtocol": "http",
    "traces": true,
    "logPrompts": true
  }}
}}
"""
    key = (
        [CodeSnippet(SHELL, export_lines(f"OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20{here.key}"))]
        if here.key
        else []
    )
    return [CodeSnippet("~/.gemini/settings.json", code), *key, import_command("~/.gemini/tmp")]


def import_command(path: str) -> CodeSnippet:
    return CodeSnippet(
        gettext_noop("What is there already, where this server runs"), f"python manage.py logs import {path}"
    )


def files(here: ServerAddress) -> list[CodeSnippet]:
    return [CodeSnippet(SHELL, "python manage.py logs import spans.jsonl session.jsonl traces/")]
