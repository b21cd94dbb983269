"""What the page of a turn offers to be copied runs: the Python with OpenAI's client, the command in a
shell; and what is waited for is answered on the page."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.live.caller import Caller, Talk, user
from tests.support.live.mcp_process import McpProcess
from tests.support.live.openai_api import created, function, text
from tests.support.live.page_reader import Reader
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server

BOIL = 'call get_boiling_point {"liquid_name": "polyjuice"}'


def turn_of(caller: Caller, response: str) -> str:
    answer = caller.get(f"/responses/{response}/")
    assert answer.status == 302
    return answer.headers["location"].partition("#")[0]


def page_of(caller: Caller, response: str) -> str:
    return caller.get(turn_of(caller, response)).body.decode()


def programs(page: str) -> dict[tuple[str, str], str]:
    """What can be copied, by title and language."""
    found = re.findall(r"<span>([^<]+) <span class=\"faint\">(\w+)</span></span>.*?<code>(.*?)</code>", page, re.DOTALL)
    return {(html.unescape(title), language): html.unescape(code) for title, language, code in found}


def run_python(code: str, folder: Path) -> list[str]:
    """The lines that a program of the page prints."""
    path = folder / "copied.py"
    path.write_text(code)
    done = subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def run_shell(code: str) -> str:
    done = subprocess.run(["sh", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


EVERYTHING: dict[str, Any] = {
    "instructions": 'Be "kind".\nAlways \\ in line\u2028two \U0001f600',
    "metadata": {"team": "réd", "quote": "it's"},
    "temperature": 0.5,
    "max_infer_iters": 3,
    "presence_penalty": 0.5,
    "guardrails": [],
    "tools": [function("lookup_order", "order")],
    "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object", "properties": {}}}},
    "reasoning": {"effort": "low"},
    "include": ["file_search_call.results"],
    "background": False,
}


def test_the_python_of_a_response_asks_again_and_goes_on(caller: Caller, tmp_path: Path) -> None:
    first = created(caller, "say Hello there.", **EVERYTHING)
    offered = programs(page_of(caller, first["id"]))
    assert set(offered) == {
        (title, language) for title in ("Continue from here", "Repeat the request") for language in ("Python", "curl")
    }
    head, *said = run_python(offered["Repeat the request", "Python"], tmp_path)
    again = caller.get(f"/v1/responses/{head.removeprefix('completed ')}").json
    same = ("instructions", "metadata", "temperature", "tools", "text", "max_infer_iters", "presence_penalty")
    assert {name: again[name] for name in same} == {name: first[name] for name in same}
    assert said == ["Hello there."]
    head, *_ = run_python(offered["Continue from here", "Python"], tmp_path)
    next_one = caller.get(f"/v1/responses/{head.removeprefix('completed ')}").json
    assert next_one["previous_response_id"] == first["id"]
    assert {name: next_one[name] for name in same} == {name: first[name] for name in same}


def test_the_commands_of_a_response_run_in_a_shell(caller: Caller) -> None:
    first = created(caller, "say It's $HOME `id`.", **EVERYTHING)
    offered = programs(page_of(caller, first["id"]))
    stream = run_shell(offered["Repeat the request", "curl"])
    assert "event: response.completed" in stream
    assert "It's $HOME `id`." in stream
    assert f'"previous_response_id":"{first["id"]}"' in run_shell(offered["Continue from here", "curl"])


def test_the_python_of_a_conversation_goes_on_in_it(caller: Caller, tmp_path: Path) -> None:
    conversation = caller.post("/v1/conversations", {}).json["id"]
    first = created(caller, "say One.", conversation=conversation)
    offered = programs(page_of(caller, first["id"]))
    head, *_ = run_python(offered["Continue from here", "Python"], tmp_path)
    second = caller.get(f"/v1/responses/{head.removeprefix('completed ')}").json
    assert second["conversation"] == {"id": conversation}


def test_the_python_of_a_waiting_turn_answers_it(caller: Caller, tmp_path: Path) -> None:
    tools = [function("lookup_order", "order")]
    first = created(caller, 'call lookup_order {"order": "7"}', "then", "say Thanks.", tools=tools)
    offered = programs(page_of(caller, first["id"]))
    head, *said = run_python(offered["Answer the waiting call", "Python"], tmp_path)
    assert head.startswith("completed resp_")
    assert said == ["Thanks."]
    assert turn_of(caller, head.removeprefix("completed ")) == turn_of(caller, first["id"])


def test_the_programs_of_an_agents_turn_ask_again_and_go_on(caller: Caller, tmp_path: Path) -> None:
    talk = Talk(caller, name="copied", toolgroups=["builtin::demo"])
    document = {"content": 'It\'s "closed".', "mime_type": "text/plain"}
    asked = {"messages": [user('Où est\u2028l\'ours "Bob"?\n$HOME `id` \\')], "documents": [document], "toolgroups": []}
    first = caller.post(f"{talk.path}/turn", asked).json
    offered = programs(caller.get(f"/turns/{first['turn_id']}/").body.decode())
    again, more = "Repeat in a new session", "Continue this session"
    assert list(offered) == [(again, "Python"), (again, "curl"), (more, "Python"), (more, "curl")]

    turn, *said = run_python(offered[again, "Python"], tmp_path)
    assert said == first["output_message"]["content"].splitlines()
    page = caller.get(f"/turns/{turn}/turn.md").body.decode()
    assert 'l\'ours "Bob"?\n$HOME `id` \\' in page
    assert "closed" in caller.get(f"/turns/{turn}/").body.decode()
    assert '"event_type":"turn_complete"' in run_shell(offered[again, "curl"]).replace(" ", "")

    turn, *_ = run_python(offered[more, "Python"], tmp_path)
    turns = [each["turn_id"] for each in caller.get(talk.path).json["turns"]]
    assert turns == [first["turn_id"], turn]
    run_shell(offered[more, "curl"])
    assert len(caller.get(talk.path).json["turns"]) == 3


# ---------------------------------------------------------------------------------------- on the page


@pytest.mark.parametrize(("decision", "said"), [("approve", "-100"), ("refuse", "Too hot")])
def test_a_call_is_approved_or_refused_on_the_page(
    server: ServerProcess, caller: Caller, mcp: McpProcess, decision: str, said: str
) -> None:
    tool = {"type": "mcp", "server_label": "lab", "server_url": mcp.url, "require_approval": "always"}
    first = created(caller, BOIL, "then", "say Done.", tools=[tool], instructions="Ask first.")
    reader = Reader(server, turn_of(caller, first["id"]))
    [name] = set(re.findall(r'name="(decision:[^"]+)"', reader.page))
    assert reader.send("answer/") == 400, "it must be said"
    assert reader.send("answer/", **{name: decision, name.replace("decision", "reason"): "Too hot"}) == 200

    def finished() -> str:
        page = reader.look()
        return page if 'data-turn-status="completed"' in page else ""

    page = eventually(finished)
    [second, *_] = re.findall(r'id="response-2".*?(resp_[0-9a-f]{32})', page, re.DOTALL)
    response = caller.get(f"/v1/responses/{second}").json
    assert (response["status"], response["previous_response_id"]) == ("completed", first["id"])
    assert (response["instructions"], text(response)) == ("Ask first.", "Done.")
    assert said in page
    assert "Tools of lab" in page
