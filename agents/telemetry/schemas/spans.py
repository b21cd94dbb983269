"""The wire types of span queries, as in Llama Stack 0.2.12; here each turn is one span."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.base.schemas.wire import Timestamp, TurnKey, Wire, WireOutput, null_is


class AttributeCondition(Wire):
    key: str = Field(max_length=200)
    op: Literal["eq", "ne", "gt", "lt"]
    value: Any = None


class QuerySpans(Wire):
    """``max_depth`` has no effect: turns are not nested."""

    attribute_filters: Annotated[list[AttributeCondition], Field(max_length=20), null_is([])] = []
    attributes_to_return: Annotated[list[str], Field(max_length=50), null_is([])] = []
    max_depth: int | None = None


class SpanObject(WireOutput):
    span_id: TurnKey
    trace_id: TurnKey
    parent_span_id: None = None
    name: str
    start_time: Timestamp
    end_time: Timestamp | None
    attributes: dict[str, str | int | None]


class SpanList(WireOutput):
    data: list[SpanObject]
