"""MLflow's spans (``mlflow.spanType``), over OTLP and in its trace files.

Every value is JSON inside text, even texts: ``"\\"CHAT_MODEL\\""``. Inputs and outputs of a model's span are the
provider's own request and response. Traps: over OTLP its root may never come; tools have no call ids.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import json_of, mapping, nano_dollars, text
from agents.telemetry.reading.dialects.langfuse import documents_of, query_of
from agents.telemetry.reading.dialects.token_usage import usage_of
from agents.telemetry.reading.facts import LazyMessages, SpanFacts
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span

_KINDS = {"unknown": kinds.CHAIN, "task": kinds.CHAIN, "workflow": kinds.WORKFLOW}


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    sender_kind = text(json_of(attributes.get("mlflow.spanType")))
    if not sender_kind:
        return None
    facts = SpanFacts(kind=_KINDS.get(sender_kind.lower()) or kinds.kind_of(sender_kind), sender_kind=sender_kind)
    facts.input, facts.output = attributes.get("mlflow.spanInputs"), attributes.get("mlflow.spanOutputs")
    if facts.kind == kinds.AGENT:
        facts.name = facts.agent = span.name
    if facts.kind == kinds.LLM:
        _fill_model(facts, attributes)
    elif facts.kind == kinds.TOOL:
        facts.tool = span.name
        facts.arguments, facts.result = json_of(facts.input), json_of(facts.output)
    elif facts.kind == kinds.RETRIEVER:
        facts.query, facts.documents = query_of(facts.input), documents_of(facts.output)
    return facts


def _fill_model(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.model = text(json_of(attributes.get("mlflow.llm.model"))) or text(json_of(attributes.get("model")))
    facts.provider = text(json_of(attributes.get("mlflow.llm.provider")))
    facts.usage = usage_of(mapping(attributes.get("mlflow.chat.tokenUsage")))
    facts.cost_nano = nano_dollars(mapping(attributes.get("mlflow.llm.cost")).get("total_cost"))
    facts.input_messages, facts.output_messages = (
        LazyMessages(facts.input, read_input),
        LazyMessages(facts.output, read_output),
    )
    facts.tools = attributes.get("mlflow.chat.tools")
