"""MLflow's spans (``mlflow.spanType``), over OTLP and in its trace files.

Every value is JSON inside text, even texts: ``"\\"CHAT_MODEL\\""``. Inputs and outputs of a model's span are the
provider's own request and response. Traps: over OTLP its root may never come; tools have no call ids.
"""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.langfuse import documents_of, query_of
from agents.telemetry.reading.dialects.reader import EVERY, Dialect

_INPUT, _OUTPUT = "mlflow.spanInputs", "mlflow.spanOutputs"

DIALECT = Dialect(
    markers=("mlflow.spanType",),
    sender_kind=source.json_text("mlflow.spanType"),
    kinds=lambda name, _: kinds.CHAIN if name.lower() == "unknown" else kinds.kind_of(name),
    facts={
        EVERY: {"input": _INPUT, "output": _OUTPUT},
        kinds.AGENT: {"name": source.span_name, "agent": source.span_name},
        kinds.LLM: {
            "model": source.json_text("mlflow.llm.model", "model"),
            "provider": source.json_text("mlflow.llm.provider"),
            "usage": "mlflow.chat.tokenUsage",
            "cost_nano": "mlflow.llm.cost > total_cost",
            "input_messages": _INPUT,
            "output_messages": _OUTPUT,
            "tools": "mlflow.chat.tools",
        },
        kinds.TOOL: {"tool": source.span_name, "arguments": source.json(_INPUT), "result": source.json(_OUTPUT)},
        kinds.RETRIEVER: {
            "query": source.converted(query_of, _INPUT),
            "documents": source.converted(documents_of, _OUTPUT),
        },
    },
)
