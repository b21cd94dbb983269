"""Rows of Phoenix' dataframe of spans, as ``get_spans_dataframe()`` has them."""

from __future__ import annotations

from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"
STARTED_MS = 1_795_168_447_000


def row(number: int, name: str, kind: str, /, parent: int = 0, **attributes: Any) -> dict[str, Any]:
    """One row. Names of attributes have ``__`` for a dot."""
    columns = {f"attributes.{key.replace('__', '.')}": value for key, value in attributes.items()}
    return {
        "name": name,
        "span_kind": kind,
        "parent_id": f"{parent:016x}" if parent else None,
        "start_time": STARTED_MS + number * 1000,
        "end_time": STARTED_MS + number * 1000 + 900,
        "status_code": "OK",
        "status_message": "",
        "events": [],
        "context.span_id": f"{number:016x}",
        "context.trace_id": TRACE,
        **columns,
    }


CALL = {"tool_call.id": "c1", "tool_call.function.name": "weather", "tool_call.function.arguments": '{"city": "Rome"}'}
QUESTION = {"message.role": "user", "message.content": "How warm is it in Rome?"}
ASKED = {"message.role": "assistant", "message.tool_calls": [CALL]}
TOLD = {"message.role": "tool", "message.tool_call_id": "c1", "message.content": "18 degrees"}
ANSWER = {"message.role": "assistant", "message.content": "It is 18 degrees."}

_OF_ALL: list[dict[str, Any]] = [
    row(
        *(1, "weather agent", "AGENT"),
        input__value="How warm is it in Rome?",
        output__value="It is 18 degrees.",
        session__id="talk",
    ),
    row(
        *(2, "chat", "LLM", 1),
        llm__model_name="gpt-4o",
        llm__input_messages=[QUESTION],
        llm__output_messages=[ASKED],
        llm__token_count__prompt=40.0,
        llm__token_count__completion=9.0,
    ),
    row(*(3, "weather", "TOOL", 1), input__value='{"city": "Rome"}', output__value="18 degrees", tool__name="weather"),
    row(
        *(4, "chat", "LLM", 1),
        llm__model_name="gpt-4o",
        llm__input_messages=[QUESTION, ASKED, TOLD],
        llm__output_messages=[ANSWER],
        llm__token_count__prompt=60.0,
        llm__token_count__completion=7.0,
    ),
]
COLUMNS = list(dict.fromkeys(name for found in _OF_ALL for name in found))
ROWS = [{name: found.get(name) for name in COLUMNS} for found in _OF_ALL]
"""One turn: each row has the columns of all, null where they are another span's."""
