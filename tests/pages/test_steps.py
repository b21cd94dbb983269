"""A step as a card: what is said of it, for records of every kind and condition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from agents.logs.pages.turn_summary import error_text
from agents.pages import step_values
from agents.pages.step_cards import StepCard, StreamedText, step_card
from agents.record.schemas.events import ErrorInfo, StepType
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from tests.support.pages.markup import words

START = 1_795_000_000_000_000


def step(kind: StepType, detail: Any = None, **more: Any) -> StepSnapshot:
    made = StepSnapshot(
        key=5,
        number=3,
        round=0,
        type=kind,
        name="lookup" if kind == "tool_execution" else "fast",
        status="completed",
        server_side=True,
        started_at=START,
        completed_at=START + 440_000,
        detail=detail if isinstance(detail, bytes) else msgspec.json.encode(detail) if detail is not None else None,
    )
    return replace(made, **more)


def shown(one: StepSnapshot, *others: StepSnapshot, status: Any = "completed", **more: Any) -> StepCard:
    turn = TurnSnapshot(
        key=1, session=2, status=status, model="fast", started_at=START, input_messages=b"[]", steps=(one, *others)
    )
    return step_card(turn, one, "support", **more)


def said(content: Any = "", **more: Any) -> dict[str, Any]:
    return {"model_response": {"role": "assistant", "content": content, **more}}


CALL = {"call_id": "c1", "tool_name": "lookup", "arguments": {"order": 8836}}


def test_an_inference_says_what_was_said() -> None:
    found = shown(step("inference", said("It is **blue**.")))
    assert (found.speaker, found.took, found.note) == ("support", "440 ms", "")
    assert found.message is not None
    assert "<strong>blue</strong>" in found.message.html


def test_markdown_can_be_left_as_it_was_written() -> None:
    found = shown(step("inference", said("It is **blue**.")), rendered=False)
    assert found.message is not None
    assert words(found.message.html) == "It is **blue**."


def test_words_in_several_items_are_read_together() -> None:
    items = [
        {"type": "text", "text": "one"},
        {"type": "image", "image": {"data": "AA"}},
        {"type": "text", "text": "two"},
    ]
    found = shown(step("inference", said(items)))
    assert found.message is not None
    assert words(found.message.html) == "one two"


@pytest.mark.parametrize(
    ("detail", "note"),
    [
        (said("", tool_calls=[CALL]), "asked for lookup"),
        (said("Let me see.", tool_calls=[CALL]), ""),
        ({**said("It began"), "finish_reason": "length"}, "cut at the token limit"),
        (said(""), "no text"),
    ],
)
def test_an_inference_notes_what_is_not_in_its_words(detail: Any, note: str) -> None:
    assert shown(step("inference", detail)).note == note


def test_an_open_inference_shows_what_is_typed() -> None:
    running = step("inference", None, status="in_progress", completed_at=None)
    found = shown(running, status="in_progress", streamed=StreamedText("It is", "Hm"))
    assert found.is_open
    assert found.streamed == StreamedText("It is", "Hm")
    assert found.elapsed_ms is not None


def test_a_tool_shows_its_call_and_its_result() -> None:
    found = shown(step("tool_execution", {"tool_calls": [CALL], "tool_responses": [{"content": '{"total":129.0}'}]}))
    assert (found.title, found.code, found.note) == ("lookup", True, "ran on the server")
    assert [(block.name, block.style, words(block.html)) for block in found.body] == [
        ("arguments", "json", '{ "order" : 8836 }'),
        ("result", "json", '{ "total" : 129.0 }'),
    ]


@pytest.mark.parametrize("metadata", [None, {}, {"document_ids": ["a"], "scores": [0.5]}, [1], "x"])
def test_a_result_is_shown_whatever_came_with_it(metadata: Any) -> None:
    call = {"call_id": "c", "tool_name": "search", "arguments": {"q": "x"}}
    answer = {"call_id": "c", "tool_name": "search", "content": "found", "metadata": metadata}
    card = shown(step("tool_execution", {"tool_calls": [call], "tool_responses": [answer]}))
    assert ["found" in str(block.html) for block in card.body] == [False, True]


def test_a_program_is_shown_as_a_program() -> None:
    program = "print('a < b')  # ``` and <script>"
    card = shown(step("tool_execution", {"tool_calls": [{**CALL, "arguments": {"code": program}}]}))
    [block] = card.body
    assert block.style == "said"
    assert words(block.html).replace(" ", "") == program.replace(" ", "")
    assert "<script" not in block.html
    for other in ({"code": ""}, {"code": 5}, {"code": "x", "language": "js"}):
        [block] = shown(step("tool_execution", {"tool_calls": [{**CALL, "arguments": other}]})).body
        assert block.style == "json"


def test_arguments_are_shown_as_the_model_wrote_them() -> None:
    call = {**CALL, "arguments": {"amount": 129.0}, "arguments_json": '{"amount": 129.00}'}
    assert "129.00" in shown(step("tool_execution", {"tool_calls": [call]})).body[0].html


def test_arguments_that_are_no_object_are_shown_as_text() -> None:
    found = shown(step("tool_execution", {"tool_calls": [{**CALL, "arguments": "{oops"}]}))
    assert (found.body[0].style, found.body[0].html) == ("text", "{oops")


def test_a_failed_tool_says_its_error_once() -> None:
    detail = {"tool_calls": [CALL], "tool_responses": [{"content": "gone"}]}
    failed = step("tool_execution", detail, status="failed", error=ErrorInfo(type="tool_error", message="gone"))
    found = shown(failed)
    assert found.error == "gone"
    assert [block.name for block in found.body] == ["arguments"]


def test_a_call_waits_only_while_its_turn_does() -> None:
    waiting = step(
        "tool_execution", {"tool_calls": [CALL]}, status="awaiting_input", server_side=False, completed_at=None
    )
    other = replace(waiting, key=6, number=4)
    assert [
        shown(waiting, other, status="awaiting_input").is_last_call,
        shown(waiting, status="awaiting_input").is_last_call,
    ] == [
        False,
        True,
    ]
    found = shown(waiting, status="awaiting_input")
    assert (found.call_id, found.since) == ("c1", START)
    assert shown(waiting, status="cancelled").call_id == ""


def test_a_result_of_several_images_and_words_is_shown() -> None:
    content = [{"type": "text", "text": "two"}, {"type": "image", "image": {"url": {"uri": "https://a.example/1"}}}]
    found = shown(step("tool_execution", {"tool_calls": [CALL], "tool_responses": [{"content": content}]}))
    assert [block.style for block in found.body] == ["json", "text", "link"]


def test_a_shield_that_only_warns_does_not_speak_for_the_agent() -> None:
    violation = {"violation_level": "warn", "user_message": "careful", "metadata": {"shield_id": "guard"}}
    found = shown(step("shield_call", {"touchpoint": "user-input", "shields": ["guard"], "violation": violation}))
    assert (found.note, found.message, found.status) == ("guard: violation, warn", None, "violation")


def test_a_retrieval_that_found_nothing_says_so() -> None:
    assert shown(step("memory_retrieval", {"vector_db_ids": "kb", "inserted_context": ""})).note == "nothing found"


def test_a_retrieval_without_passages_shows_its_text() -> None:
    found = shown(step("memory_retrieval", {"vector_db_ids": "kb", "inserted_context": "Kettles."}))
    assert (found.note, words(found.body[0].html)) == ("text from kb", "Kettles.")


def test_another_kind_of_step_shows_its_data() -> None:
    found = shown(step("other", {"kind": "handoff", "data": {"to": "billing"}}))
    assert (found.title, found.note, words(found.body[0].html)) == ("handoff", "fast", '{ "to" : "billing" }')


@pytest.mark.parametrize("kind", ["inference", "tool_execution", "shield_call", "memory_retrieval", "other"])
@pytest.mark.parametrize(
    "detail", [None, b"", b"{", b"[]", b"{}", b'{"model_response": 3, "tool_calls": {}, "chunks": [1], "data": []}']
)
@pytest.mark.parametrize("status", ["in_progress", "completed", "failed", "cancelled", "interrupted"])
def test_a_step_that_cannot_be_read_is_still_a_card(kind: StepType, detail: bytes | None, status: Any) -> None:
    found = shown(step(kind, detail, status=status), status="failed")
    assert (found.number, found.status) == (3, status)
    assert step_values.step_texts(step(kind, detail)) is not None


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ErrorInfo(type="timeout", message=""), "timeout"),
        (
            ErrorInfo(type="provider_error", message="too slow", provider="openai", upstream_status=504),
            "openai 504: too slow",
        ),
        (ErrorInfo(type="provider_error", message="openai answered 504", provider="openai"), "openai answered 504"),
    ],
)
def test_an_error_names_its_provider_once(error: ErrorInfo, said: str) -> None:
    assert error_text(error) == said
