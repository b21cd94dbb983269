"""A table of a dialect, as the docstring of the package shows it, read by the one reader."""

from __future__ import annotations

from typing import Any

import pytest

from agents.telemetry.reading import kinds
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import EVERY, But, Dialect, reader_of
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.spans import Span


def _mark(facts: SpanFacts, values: Values, _: Span) -> None:
    facts.label = f"{facts.agent} {values['acme.agent.name']}"


read = reader_of(
    Dialect(
        sender_kind="acme.span.kind",
        kinds={"generation": kinds.LLM, "step": kinds.CHAIN, "run": kinds.AGENT},
        facts={
            EVERY: {"agent": "acme.agent.name"},
            kinds.LLM: {
                "model": ("acme.response.model", "acme.model"),
                "provider": ("acme.vendor", source.constant("acme")),
                "input_messages": "acme.prompt",
                "usage": source.tokens(input="acme.tokens.in", output="acme.tokens.out"),
                "cost_nano": "acme.bill > total_dollars",
                "ttft_us": "acme.first_token_ms",
            },
            (kinds.AGENT, kinds.WORKFLOW): {"name": source.span_name},
            But(kinds.LLM): {"input": "acme.input"},
        },
        finish={"run": _mark, kinds.AGENT: _mark},
    )
)


def facts(kind: str, **attributes: Any) -> SpanFacts:
    values = {f"acme.{name.replace('__', '.')}": value for name, value in attributes.items()}
    facts = read(Span("t", "s", name="n", attributes={"acme.span.kind": kind, "acme.input": "i", **values}))
    assert facts is not None
    return facts


def test_a_row_reads_the_first_name_that_has_a_value() -> None:
    model = facts("generation", response__model="", model="m", prompt="Hi", bill='{"total_dollars": "0.5"}')
    assert (model.kind, model.sender_kind, model.model, model.provider) == ("llm", "generation", "m", "acme")
    assert (model.cost_nano, model.usage, model.input) == (500_000_000, None, None)
    assert [message.text for message in model.input_messages.messages()] == ["Hi"]
    assert facts("generation", vendor="other").provider == "other"


def test_numbers_have_our_units() -> None:
    model = facts("generation", tokens__in=3, tokens__out="2", first_token_ms=1.5)
    assert model.usage is not None
    assert (model.usage.input_tokens, model.usage.output_tokens, model.ttft_us) == (3, 2, 1500)


def test_rows_are_for_the_kinds_that_they_name() -> None:
    assert (facts("step").name, facts("step").input, facts("step").label) == ("", "i", "")
    run = facts("run", agent__name="A")
    assert (run.name, run.agent, run.input, run.label) == ("n", "A", "i", "A A")
    assert facts("of another kind").kind == ""


def test_a_span_without_the_marker_is_not_of_the_dialect() -> None:
    others: list[dict[str, Any]] = [{}, {"acme.span.kind": ""}, {"acme.span.kind": []}, {"acme.model": "m"}]
    assert [read(Span("t", "s", attributes=attributes)) for attributes in others] == [None] * 4


def test_a_table_names_facts_that_there_are() -> None:
    with pytest.raises(ValueError, match="engine"):
        reader_of(Dialect(sender_kind="acme.span.kind", facts={EVERY: {"engine": "acme.model"}}))
