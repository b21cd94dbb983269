"""Claude Code's transcripts as spans."""

from __future__ import annotations

import json
from typing import Any

from agents.telemetry.reading.merging import merge
from agents.telemetry.reading.sessions import claude_code
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import captures

SESSION = "5abadb34-4388-4c6e-adde-1a9db475502f"
FOLDER = captures.SESSIONS / "claude_code_subagent"


def kinds(spans: list[Span]) -> list[str]:
    return [span.attributes["kind"] for span in spans]


def line(kind: str, uuid: str, content: Any, second: int, **more: Any) -> str:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    at = f"2026-11-20T09:00:{second:02}.000Z"
    return json.dumps({"type": kind, "uuid": uuid, "sessionId": "s", "timestamp": at, "message": message, **more})


def test_it_reads_turns_calls_of_models_and_tools() -> None:
    read = claude_code.from_lines((captures.SESSIONS / "claude_code.jsonl").read_bytes().splitlines())
    turn, first, tool, second, later, answer = read.spans
    assert kinds(read.spans) == ["turn", "model", "tool", "model", "turn", "model"]
    assert turn.trace == f"{SESSION}:ec8b97ed-0bf7-437b-a660-5dde46bfb158" != later.trace
    assert {span.parent for span in (first, tool, second)} == {turn.id}
    assert turn.attributes["session"] == SESSION
    assert turn.attributes["input"][0]["content"].startswith("Please read the file.")
    assert first.attributes["usage"]["cache_read_input_tokens"] == 200
    assert first.attributes["input"] == turn.attributes["input"]
    assert second.attributes["input"][0]["content"][0]["type"] == "tool_result"
    assert second.attributes["output"] == [
        {"role": "assistant", "content": [{"type": "text", "text": "Done. The tool answered."}]}
    ]
    assert (tool.name, tool.attributes["call_id"]) == ("Read", "toolu_17bdfa7d95cd13995236fef5")
    assert tool.attributes["result"] == "1\thello from the demo file\n2\t"
    assert (tool.end_ns - tool.start_ns) == 24_000_000
    assert turn.end_ns == second.end_ns
    assert answer.attributes["stop_reason"] == "end_turn"
    assert (read.rejected, read.problem, read.ignored) == (0, "", 9)


def test_a_sub_agent_lies_below_the_tool_that_started_it_whichever_file_comes_first() -> None:
    main = claude_code.from_lines((FOLDER / "main.jsonl").read_bytes().splitlines()).spans
    (path,) = (FOLDER / "subagents").glob("*.jsonl")
    side = claude_code.from_lines(path.read_bytes().splitlines()).spans
    alone = next(span for span in side if span.attributes["kind"] == "agent")
    known = next(span for span in main if span.attributes["kind"] == "agent")
    tool = next(span for span in main if span.name == "Agent")
    assert kinds(side) == ["agent", "model", "tool", "model"]
    assert alone.parent == ""
    assert (known.trace, known.id, known.parent) == (alone.trace, alone.id, tool.id)
    assert merge(alone, known).parent == merge(known, alone).parent == tool.id
    assert {span.parent for span in side[1:]} == {alone.id}
    assert {span.trace for span in side} == {main[0].trace}


def test_a_sub_agent_was_asked_and_answered_what_its_tools_result_says() -> None:
    main = claude_code.from_lines((FOLDER / "main.jsonl").read_bytes().splitlines()).spans
    known = next(span for span in main if span.attributes["kind"] == "agent")
    assert known.attributes["input"][0]["content"].startswith("CALL Read")
    [turn, _] = build_turns(captures.session_spans("claude_code_subagent__main"))
    [step] = [step for step in turn.steps if step.kind == "agent"]
    assert step.detail.data["output"] == "Done. The tool answered."  # type: ignore[union-attr]  # an agent's


def test_what_lies_beside_a_sub_agents_file_names_its_parent() -> None:
    (path,) = (FOLDER / "subagents").glob("*.jsonl")
    about = json.loads(path.with_suffix(".meta.json").read_text())
    side = claude_code.from_lines(path.read_bytes().splitlines(), about).spans
    assert side[0].parent == "toolu_ae7170b6e204d9ef85f3f0c4"


def test_older_files_have_the_sub_agents_lines_among_the_others() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Look."}}
    read = claude_code.from_lines(
        [
            line("user", "u1", "Delegate.", 1),
            line("assistant", "a1", [call], 2, message={"id": "m1"}),
            line("user", "x1", "Look.", 3, isSidechain=True),
            line("assistant", "x2", "Seen.", 4, isSidechain=True, parentUuid="x1", message={"id": "m2"}),
            line("user", "u2", [{"type": "tool_result", "tool_use_id": "t1", "content": "Seen."}], 5),
        ]
    )
    by_id = {span.id: span for span in read.spans}
    assert by_id["agent-x1"].parent == "t1"
    assert by_id["m2"].parent == "agent-x1"
    assert by_id["u1"].end_ns == 0  # nobody answered yet


def test_lines_of_one_message_are_one_call() -> None:
    usage = {"usage": {"output_tokens": 3}}
    read = claude_code.from_lines(
        [
            line("user", "u1", "Hello", 1),
            line("assistant", "a1", [{"type": "thinking", "thinking": "Hm."}], 2, message={"id": "m1"}),
            line("assistant", "a2", [{"type": "text", "text": "Hi."}], 3, message={"id": "m1", **usage}),
            line("assistant", "a2", [{"type": "text", "text": "Hi."}], 3, message={"id": "m1", **usage}),
        ]
    )
    _, call = read.spans
    assert [block["type"] for block in call.attributes["output"][0]["content"]] == ["thinking", "text"]
    assert call.attributes["usage"] == {"output_tokens": 3}


def test_commands_and_notes_of_the_program_are_no_turns() -> None:
    read = claude_code.from_lines(
        [
            line("user", "u0", "Caveat: The messages below were generated", 0, isMeta=True),
            line("user", "u1", "<command-name>/clear</command-name>", 1),
            line("user", "u2", "<local-command-stdout></local-command-stdout>", 2),
            line("user", "u3", "<command-name>/init</command-name>", 3),
            line("user", "u4", "Please look at this folder", 4, isMeta=True),
            line("assistant", "a1", "Looked.", 5, message={"id": "m1"}),
        ]
    )
    assert [(span.id, span.attributes["kind"]) for span in read.spans] == [("u3", "turn"), ("m1", "model")]
    assert read.ignored == 5


def test_an_interruption_ends_the_turn_and_what_is_open_in_it() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    read = claude_code.from_lines(
        [
            line("user", "u1", "Sleep.", 1),
            line("assistant", "a1", [call], 2, message={"id": "m1"}),
            line("user", "u2", [{"type": "text", "text": "[Request interrupted by user for tool use]"}], 3),
        ]
    )
    turn, _, tool = read.spans
    assert turn.attributes["interrupted"] is tool.attributes["interrupted"] is True
    assert turn.end_ns == tool.end_ns > tool.start_ns


def test_an_error_of_the_api_is_a_failed_call_and_a_failed_turn() -> None:
    text, synthetic = [{"type": "text", "text": "API Error: 529"}], {"model": "<synthetic>"}
    lines = [
        line("user", "u1", "Hello", 1),
        line("assistant", "a1", text, 2, isApiErrorMessage=True, message=synthetic),
    ]
    turn, call = claude_code.from_lines(lines).spans
    assert [(span.failed, span.message) for span in (turn, call)] == [(True, "API Error: 529")] * 2
    assert (turn.end_ns, call.name, call.attributes.get("model")) == (call.end_ns, "", None)
    [built] = build_turns([turn, call])
    assert (built.status, built.error.message if built.error else "") == ("failed", "API Error: 529")
    tried_again = [*lines, line("assistant", "a2", "Hello!", 3, message={"id": "m2", "stop_reason": "end_turn"})]
    turn = claude_code.from_lines(tried_again).spans[0]
    assert (turn.failed, turn.message) == (False, "")


def test_a_broken_line_is_told_and_a_half_written_last_one_is_not() -> None:
    good = line("user", "u1", "Hello", 1)
    read = claude_code.from_lines([b"{", "", good, "[]", good[:40]])
    assert len(read.spans) == 1
    assert read.rejected == 2
    assert read.problem == "line 1: this is no JSON. line 4: an object is expected, not a list."


def test_a_line_without_its_message_is_told() -> None:
    good = line("user", "u1", "Hello", 1)
    empty, text = (json.dumps({**json.loads(good), "uuid": "u2", "message": wrong}) for wrong in (None, "Hello"))
    read = claude_code.from_lines([good, empty, text, json.dumps({"type": "summary", "leafUuid": "u1"})])
    assert (len(read.spans), read.rejected, read.ignored) == (1, 2, 1)
    assert read.problem == (
        "line 2: message: an object is expected, not null. line 3: message: an object is expected, not text."
    )


def test_reading_more_of_a_file_gives_the_same_ids() -> None:
    lines = (captures.SESSIONS / "claude_code.jsonl").read_bytes().splitlines()
    whole = {(span.trace, span.id) for span in claude_code.from_lines(lines).spans}
    for end in range(len(lines)):
        assert {(span.trace, span.id) for span in claude_code.from_lines(lines[:end]).spans} <= whole
