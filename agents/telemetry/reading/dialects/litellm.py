"""LiteLLM's callback for OpenTelemetry, in so far as it differs from the GenAI conventions, which it follows.

A call of a tool that the model asks for is not among the parts of its answer, but beside them, flattened and without
its id: ``gen_ai.completion.0.function_call.name`` and ``.arguments``.
"""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall
from agents.telemetry.reading.messages import read_output
from agents.telemetry.reading.unflatten import unflatten

_COMPLETION = "gen_ai.completion."
_FIRST_CALL = "gen_ai.completion.0.function_call.name"


def _answer(values: Values) -> list[HistoryMessage]:
    messages = read_output(values.get("gen_ai.output.messages")) or [HistoryMessage("assistant")]
    calls = [
        row["function_call"] for row in unflatten(values, _COMPLETION) if isinstance(row.get("function_call"), dict)
    ]
    messages[-1].calls = messages[-1].calls or [
        RequestedCall("", text(call.get("name")), call.get("arguments")) for call in calls
    ]
    messages[-1].hidden = False
    return messages


DIALECT = Dialect(
    markers=(_FIRST_CALL,),
    sender_kind=lambda values, _: text(values.get("gen_ai.operation.name")),
    kinds=lambda _name, _span: kinds.LLM,
    facts={kinds.LLM: {"output_messages": source.gathered(_COMPLETION, _answer)}},
)
