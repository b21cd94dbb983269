"""A model's own program, from the agent's configuration to the log."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.process import ServerProcess, eventually
from tests.tools.providers.sandboxed import installed

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


@pytest.fixture
def shared_tmp() -> Iterator[Path]:
    """A folder for temporary files that the sandbox's user can get to."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_what_a_killed_server_left_is_removed_by_the_next(
    start_server: Callable[..., ServerProcess], shared_tmp: Path
) -> None:
    if not installed():
        pytest.skip("no bubblewrap on this machine")
    killed, living = start_server(TMPDIR=str(shared_tmp)), start_server(TMPDIR=str(shared_tmp))
    left = _copy_of(killed, shared_tmp)
    kept = _copy_of(living, shared_tmp, left)
    killed.kill()
    assert _copies(shared_tmp) == {left, kept}
    killed.start()
    assert eventually(lambda: _copies(shared_tmp) == {kept})
    assert Caller(living.port).get("/v1/providers/code-interpreter").json["health"]["status"] == "OK"


def _copies(shared_tmp: Path) -> set[str]:
    return {path.name for path in shared_tmp.glob("agents-sandbox-*")}


def _copy_of(server: ServerProcess, shared_tmp: Path, *others: str) -> str:
    """The name of the copy that a server has made, to be asked how its code interpreter is."""
    Caller(server.port).get("/v1/providers/code-interpreter")
    [name] = _copies(shared_tmp) - set(others)
    return name
