"""A model's own program, from the agent's configuration to the log."""

from __future__ import annotations

import json

import pytest

from tests.providers.tools.test_code_interpreter import installed
from tests.server.caller import Caller, Talk, script

pytestmark = pytest.mark.server


def test_a_turn_runs_a_program_where_the_sandbox_holds(caller: Caller) -> None:
    installed()
    talk = Talk(caller, toolgroups=["builtin::code_interpreter"])
    call = json.dumps({"code": "print(6 * 7)"})
    turn = talk.say(script(f"call code_interpreter {call}", "then", "say There.")).json
    [step] = [step for step in turn["steps"] if step["step_type"] == "tool_execution"]
    [answer] = step["tool_responses"]
    health = caller.get("/v1/providers/code-interpreter").json["health"]
    if health["status"] == "OK":
        assert "[stdout]\n42\n" in answer["content"]
    else:
        assert health["message"] in answer["content"]
    assert turn["output_message"]["content"] == "There."


def test_a_response_runs_a_program_where_the_sandbox_holds(caller: Caller) -> None:
    installed()
    program = "print(6 * 7)"
    asked = script(f"call code_interpreter {json.dumps({'code': program})}", "then", "say There.")
    tools = [{"type": "code_interpreter", "container": {"type": "auto"}}]
    response = caller.post("/v1/responses", {"model": "scripted/fast", "input": asked, "tools": tools}).json

    call, message = response["output"]
    assert (call["type"], call["code"]) == ("code_interpreter_call", program)
    health = caller.get("/v1/providers/code-interpreter").json["health"]
    [logged] = call["outputs"]
    assert ("42" if health["status"] == "OK" else health["message"]) in logged["logs"]
    assert message["content"][0]["text"] == "There."
