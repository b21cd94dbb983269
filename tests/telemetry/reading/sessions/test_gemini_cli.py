"""Gemini CLI's chats as spans."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.telemetry.reading.sessions import gemini_cli
from tests.telemetry.reading import captures

LINES = (captures.SESSIONS / "gemini_cli.jsonl").read_bytes().splitlines()
SESSION = "2fd21be4-1625-4957-9185-bc57c55c8266"


def message(kind: str, id: str, content: Any, second: int, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": kind, "timestamp": f"2026-11-20T09:00:{second:02}.000Z", "content": content, **more}


def test_it_reads_turns_calls_of_models_and_tools_once_though_the_file_tells_them_twice() -> None:
    read = gemini_cli.from_lines(LINES)
    turn, first, tool, second, later, _ = read.spans
    assert [span.attributes["kind"] for span in read.spans] == ["turn", "model", "tool", "model", "turn", "model"]
    assert turn.trace == f"{SESSION}:2c0b9e02-88c4-4e0d-b9a5-336f907f02f3" != later.trace
    assert turn.attributes["session"] == SESSION
    assert turn.attributes["input"][0]["parts"][0]["text"].startswith("Please read the file.")
    assert (first.name, first.attributes["usage"]["input"]) == ("gemini-2.5-flash", 40)
    (output,) = first.attributes["output"]
    assert [list(part) for part in output["parts"]] == [["functionCall"]]
    assert (tool.name, tool.attributes["arguments"]) == ("read_file", {"file_path": "hello.txt"})
    assert (tool.attributes["result"], tool.attributes["status"]) == ("hello from the demo file\n", "success")
    assert tool.end_ns - tool.start_ns == 33_000_000
    assert second.attributes["output"] == [{"role": "model", "parts": [{"text": "Done. The tool answered."}]}]
    assert turn.end_ns == second.end_ns
    assert read.rejected == 0


def test_it_reads_the_one_document_of_older_versions() -> None:
    call = {"id": "c1", "name": "ls", "args": {}, "status": "error", "timestamp": "2026-11-20T09:00:04Z"}
    document = {
        "sessionId": "s",
        "messages": [
            message("user", "u1", "List them.", 1),
            message("info", "i1", "Update available.", 1),
            message("gemini", "g1", "", 2, toolCalls=[{**call, "result": "no such folder"}], tokens={"input": 3}),
            message("error", "e1", "[API Error: quota]", 5),
        ],
    }
    turn, model, tool = gemini_cli.from_json(document).spans
    assert (turn.failed, turn.message, turn.end_ns) == (True, "[API Error: quota]", 0)
    assert model.attributes["usage"] == {"input": 3}
    assert (tool.failed, tool.attributes["result"], tool.attributes["is_error"]) == (True, "no such folder", True)
    assert tool.end_ns - tool.start_ns == 2_000_000_000


def test_it_refuses_a_document_that_is_none() -> None:
    with pytest.raises(InvalidRequest):
        gemini_cli.from_json([])


def test_reading_more_of_a_file_gives_the_same_ids() -> None:
    whole = {(span.trace, span.id) for span in gemini_cli.from_lines(LINES).spans}
    for end in range(1, len(LINES)):
        assert {(span.trace, span.id) for span in gemini_cli.from_lines(LINES[:end]).spans} <= whole


def test_a_file_may_begin_in_the_middle_of_a_turn() -> None:
    turn, model = gemini_cli.from_lines([json.dumps(message("gemini", "g1", "Hi.", 1))]).spans
    assert (turn.id, model.parent) == ("before-g1", "before-g1")
