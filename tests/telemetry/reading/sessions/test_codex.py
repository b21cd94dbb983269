"""Codex CLI's rollouts as spans."""

from __future__ import annotations

import json
from typing import Any

from agents.telemetry.reading.sessions import codex
from tests.telemetry.reading import captures

LINES = (captures.SESSIONS / "codex_rollout.jsonl").read_bytes().splitlines()


def line(kind: str, second: int, **payload: Any) -> str:
    at = f"2026-11-20T09:00:{second:02}.000Z"
    return json.dumps({"timestamp": at, "type": kind, "payload": payload})


def item(second: int, **payload: Any) -> str:
    return line("response_item", second, **payload)


def event(second: int, **payload: Any) -> str:
    return line("event_msg", second, **payload)


def message_line(role: str, text: str, second: int) -> str:
    return item(second, type="message", role=role, content=[{"type": "text", "text": text}])


def test_it_reads_turns_calls_of_models_and_tools() -> None:
    read = codex.from_lines(LINES)
    turn, first, tool, second, later, _ = read.spans
    assert [span.attributes["kind"] for span in read.spans] == ["turn", "model", "tool", "model", "turn", "model"]
    session = "01a1f848-f4c1-7413-9614-0b19d5fa77ec"
    assert turn.trace == f"{session}:01a1f848-f4dc-7210-8409-6e9daf6dae0c" != later.trace
    assert {span.parent for span in (first, tool, second)} == {turn.id}
    attributes = turn.attributes
    assert (attributes["session"], attributes["model"], attributes["version"]) == (session, "gpt-5-codex", "0.169.0")
    assert (attributes["output"], attributes["duration_ms"]) == ("Done. The tool answered.", 256)
    assert attributes["trace_id"] == "0757e543a4a44f6c135e3a565a3953b1"
    assert [message["content"][0]["text"][:11] for message in attributes["input"]] == ["Please read"]
    assert first.attributes["usage"]["input_tokens"] == 1336
    assert second.attributes["usage"]["input_tokens"] == 1365
    assert first.attributes["input"] == attributes["input"]
    assert [news["type"] for news in second.attributes["input"]] == ["function_call_output"]
    assert tool.attributes["arguments"] == '{"cmd": "cat hello.txt"}'
    assert tool.attributes["result"].endswith("Output:\nhello from the demo file\n")
    assert tool.attributes["execution"]["exit_code"] == 0
    assert tool.end_ns - tool.start_ns == 61_000_000
    assert (read.rejected, read.ignored) == (0, 12)


def test_it_reads_older_files_that_name_no_turns() -> None:
    usage = {"last_token_usage": {"input_tokens": 5}}
    read = codex.from_lines(
        [
            line("session_meta", 0, id="s", cli_version="0.30", instructions="Be brief."),
            message_line("user", "<environment_context>…", 1),
            message_line("user", "Hello", 2),
            event(2, type="user_message", message="Hello"),
            line("turn_context", 2, model="gpt-5"),
            item(3, type="reasoning", summary=[]),
            item(4, type="local_shell_call", call_id="c1", action={"command": ["ls"]}),
            event(5, type="token_count", info=usage),
            item(6, type="function_call_output", call_id="c1", output={"content": "no", "success": False}),
            message_line("assistant", "Hi.", 7),
            message_line("user", "More", 8),
            message_line("assistant", "No.", 9),
        ]
    )
    turn, first, tool, second, later, last = read.spans
    assert [span.id for span in (turn, later)] == ["turn-1", "turn-2"]
    assert (turn.attributes["model"], turn.attributes["instructions"]) == ("gpt-5", "Be brief.")
    assert [one["type"] for one in first.attributes["output"]] == ["reasoning", "local_shell_call"]
    assert first.attributes["usage"] == {"input_tokens": 5}
    assert (tool.name, tool.failed, tool.attributes["arguments"]) == ("local_shell", True, {"command": ["ls"]})
    assert turn.end_ns == second.end_ns
    assert last.parent == later.id
    assert later.end_ns == last.end_ns


def test_it_tells_an_aborted_turn_and_a_failed_command() -> None:
    read = codex.from_lines(
        [
            line("session_meta", 0, id="s"),
            event(1, type="task_started", turn_id="t"),
            message_line("user", "Run it", 1),
            item(2, type="function_call", call_id="c1", name="exec_command", arguments="{}"),
            event(3, type="item_completed", turn_id="t", item={"type": "CommandExecution", "id": "c1", "exit_code": 1}),
            item(4, type="function_call", call_id="c2", name="exec_command", arguments="{}"),
            event(5, type="turn_aborted", turn_id="t", reason="interrupted"),
        ]
    )
    turn, _, failed, open_one = read.spans
    assert (turn.attributes["interrupted"], turn.attributes["reason"]) == (True, "interrupted")
    assert failed.attributes["is_error"] is failed.failed is True
    assert open_one.attributes["interrupted"] is True
    assert open_one.end_ns == turn.end_ns


def test_an_error_of_the_program_fails_the_turn() -> None:
    read = codex.from_lines(
        [event(1, type="task_started", turn_id="t"), event(2, type="error", message="stream disconnected")]
    )
    assert (read.spans[0].failed, read.spans[0].message) == (True, "stream disconnected")


def test_reading_more_of_a_file_gives_the_same_ids() -> None:
    whole = {(span.trace, span.id) for span in codex.from_lines(LINES).spans}
    for end in range(len(LINES)):
        assert {(span.trace, span.id) for span in codex.from_lines(LINES[:end]).spans} <= whole


def test_a_line_without_its_payload_is_told() -> None:
    read = codex.from_lines([event(1, type="task_started", turn_id="t1"), '{"type": "response_item", "payload": []}'])
    assert (len(read.spans), read.rejected) == (1, 1)
    assert read.problem == "line 2: payload: an object is expected, not a list."
