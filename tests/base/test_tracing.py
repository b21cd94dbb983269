"""What is read of a ``traceparent``, and what is handed on."""

from __future__ import annotations

from contextvars import copy_context

import pytest

from agents.base import tracing
from agents.base.tracing import TraceContext, parse

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
TURN, STEP = "0193f3a0-0000-8000-8000-00000000abcd", "0193f3a0-0000-8000-8000-0000000012ef"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (PARENT, TraceContext(TRACE, SPAN)),
        (f"00-{TRACE}-{SPAN}-00", TraceContext(TRACE, SPAN, is_sampled=False)),
        (f"00-{TRACE}-{SPAN}-03", TraceContext(TRACE, SPAN)),
        (f"01-{TRACE}-{SPAN}-01-what-is-new", TraceContext(TRACE, SPAN)),
        (f"cc-{TRACE}-{SPAN}-01", TraceContext(TRACE, SPAN)),
        ("", None),
        ("00", None),
        (PARENT.upper(), None),
        (f"{PARENT}-more", None),
        (f"01-{TRACE}-{SPAN}-01more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE[:-1]}-{SPAN}-01", None),
        (f"00-{TRACE[:-1]}g-{SPAN}-01", None),
        (f" {PARENT}", None),
        (f"{PARENT}\r\nx: y", None),
    ],
)
def test_a_parent_is_read_as_the_specification_says(header: str, expected: TraceContext | None) -> None:
    assert parse(header) == expected


@pytest.mark.parametrize(
    ("state", "kept"),
    [("vendor=1,other=2", True), ("x" * 512, True), ("x" * 513, False), ("a\r\nb: c", False), ("ü", False)],
)
def test_a_state_is_handed_on_as_it_came_or_not_at_all(state: str, kept: bool) -> None:
    found = parse(PARENT, state)
    assert found is not None
    assert found.state == (state if kept else "")


def test_what_is_asked_of_others_is_caused_by_the_step() -> None:
    def ask() -> tuple[dict[str, str], dict[str, str]]:
        tracing.current.set(tracing.of_turn(parse(PARENT, "vendor=1"), TURN))
        of_turn = tracing.headers()
        tracing.enter(STEP)
        return of_turn, tracing.headers()

    assert copy_context().run(ask) == (
        {"traceparent": f"00-{TRACE}-800000000000abcd-01", "tracestate": "vendor=1"},
        {"traceparent": f"00-{TRACE}-80000000000012ef-01", "tracestate": "vendor=1"},
    )


def test_without_a_parent_nothing_is_sent_unless_turns_are_exported() -> None:
    def ask() -> dict[str, str]:
        tracing.current.set(tracing.of_turn(None, TURN))
        return tracing.headers()

    assert copy_context().run(ask) == {}
    tracing.export_turns(True)
    try:
        assert copy_context().run(ask) == {"traceparent": "00-0193f3a000008000800000000000abcd-800000000000abcd-01"}
    finally:
        tracing.export_turns(False)
