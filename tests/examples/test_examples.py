"""The programs of ``examples/`` by their commands, and what the log then shows of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests import ROOT
from tests.support.live import client_venvs
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.process import KEPT, ServerProcess

pytestmark = pytest.mark.server

EXAMPLES = ROOT / "examples"
NOTEBOOK = """
import json, sys
scope = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), scope)
"""
"""Runs the cells of a notebook in order, as Jupyter does with "run all"."""


@dataclass(frozen=True)
class Run:
    """A program that has ended."""

    status: int
    said: str
    complaints: str


def run(server: ServerProcess, *arguments: str | Path, python: str = sys.executable, answers: str = "") -> Run:
    """Run Python in the project's root, as the page of the examples says, against a server, and type ``answers``."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment = {**kept, "NO_PROXY": "*", "TURNLOG_URL": server.base}
    line = [python, *map(str, arguments)]
    done = subprocess.run(
        line, cwd=ROOT, env=environment, input=answers, capture_output=True, text=True, timeout=60, check=False
    )
    return Run(done.returncode, done.stdout, done.stderr)


def turn_of(server: ServerProcess, done: Run) -> dict[str, Any]:
    """The row of the turn whose page's address a program says at its end. The page is there."""
    assert done.status == 0, done.complaints
    page = done.said.split()[-1]
    assert re.fullmatch(rf"{server.base}/turns/[0-9a-f-]+/", page), done.said
    assert Caller(server.port).get(page.removeprefix(server.base)).status == 200
    [turn] = rows(server, f"id:{page.split('/')[-2]}")
    return turn


def rows(server: ServerProcess, query: str) -> list[dict[str, Any]]:
    answer = Caller(server.port).get(f"/v1/logs/turns?q={quote(query)}")
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json["data"]
    return found


def called(turn: dict[str, Any]) -> list[str]:
    """The tools that a turn has called, in order."""
    return [step["name"] for step in turn["steps"] if step["type"] == "tool_execution"]


def test_the_support_agent_waits_for_an_approval(server: ServerProcess) -> None:
    done = run(server, "examples/support_agent.py", "--yes")
    turn = turn_of(server, done)
    assert (turn["agent_name"], turn["session_name"]) == ("support agent", "A broken kettle")
    assert (turn["status"], called(turn)) == ("completed", ["refund_order"])
    assert turn["waited_ms"] > 0
    assert '"refunded": true' in str(Caller(server.port).get(f"/v1/logs/turns/export?q=id:{turn['id']}&whole=1").json)
    [first] = [one for one in rows(server, f"session:{turn['session_id']}") if one["id"] != turn["id"]]
    assert (called(first), first["waited_ms"]) == (["lookup_order"], None)


def test_the_support_agent_takes_no_for_an_answer(server: ServerProcess) -> None:
    done = run(server, "examples/support_agent.py", answers="n\n")
    assert "Let it? [y/N]" in done.said
    assert "a person said no" in turn_of(server, done)["output_preview"]


def test_a_folder_is_searched_and_its_files_are_named(server: ServerProcess) -> None:
    done = run(server, "examples/folder_rag.py")
    turn = turn_of(server, done)
    assert (turn["agent_name"], turn["session_name"]) == ("librarian", "A question to docs/")
    assert (turn["status"], called(turn)) == ("completed", ["knowledge_search"])
    assert "docs/webhooks.md" in done.said.partition("Sources:")[2]


def test_another_folder_takes_the_place_of_the_first(server: ServerProcess, tmp_path: Path) -> None:
    for text in ("The kettle whistles at noon.", "The pot is green, and was sent back."):
        (tmp_path / "kitchen.md").write_text(text)
        done = run(server, "examples/folder_rag.py", tmp_path, "Search: what was sent back?")
        turn_of(server, done)
    assert "The pot is green" in done.said
    assert "whistles" not in done.said
    assert done.said.partition("Sources:")[2].split()[1] == str(tmp_path / "kitchen.md")


def test_agents_call_each_other_and_hand_over(server: ServerProcess) -> None:
    turn = turn_of(server, run(server, "examples/handover.py"))
    assert (turn["agent_name"], turn["session_name"]) == ("front desk", "A parcel for Hamburg")
    assert turn["status"] == "completed"
    assert turn["input_preview"].startswith("Will order 8841 still reach me in Hamburg today?")
    assert sorted(called(turn)) == ["order_desk", "transfer_to_delivery_desk", "weather_desk"]
    assert turn["output_preview"].startswith("The delivery desk here:")
    below = {one["agent_name"]: called(one) for one in rows(server, f"caller:{turn['id']}")}
    assert below == {"order desk": ["lookup_order"], "weather desk": ["get_weather"]}


@pytest.mark.parametrize(("threshold", "status"), [("0.75", 0), ("0.9", 1)])
def test_an_evaluation_is_passed_or_not(server: ServerProcess, threshold: str, status: int) -> None:
    done = run(server, "-m", "examples.evaluate", "--threshold", threshold)
    assert (done.status, "0.80  mean" in done.said) == (status, True), done.complaints
    [evaluation] = re.findall(r"/logs/\?q=meta\.evaluation%3A(\w+)$", done.said.strip())
    judged = rows(server, f"meta.evaluation:{evaluation} score.correct:1")
    failed = rows(server, f"meta.evaluation:{evaluation} score.correct:0")
    assert (len(judged), len(failed)) == (4, 1)
    assert all(f"/turns/{turn['id']}/" in done.said for turn in judged + failed)
    names = {(turn["agent_name"], turn["session_name"]) for turn in judged + failed}
    assert names == {("shop assistant", f"Evaluation {evaluation}")}
    assert failed[0]["feedback"]["comments"] == 1


def test_an_agent_that_is_there_is_evaluated(server: ServerProcess) -> None:
    agent = Talk(Caller(server.port), name="mute").agent
    done = run(server, "-m", "examples.evaluate", "--agent", agent)
    assert (done.status, "0.00  mean; FAILED" in done.said) == (1, True), done.complaints


def test_the_notebook_groups_failures_by_their_message(server: ServerProcess) -> None:
    talk = Talk(Caller(server.port), name="unlucky")
    for number in (17, 18):
        talk.say(script(f"fail 503 kettle {number} is hot"))
    done = run(server, "-c", NOTEBOOK, EXAMPLES / "failed_turns.ipynb")
    assert turn_of(server, done)["status"] == "failed"
    [line] = [line for line in done.said.splitlines() if "kettle … is hot" in line]
    assert re.search(r"is hot +2 +1 ", line)


def test_the_notebook_bears_a_log_without_failures(start_server: Callable[[], ServerProcess]) -> None:
    done = run(start_server(), "-c", NOTEBOOK, EXAMPLES / "failed_turns.ipynb")
    assert (done.status, done.said.splitlines()[-1]) == (0, "Nothing has failed."), done.complaints


def test_the_notebook_is_kept_without_output() -> None:
    cells = json.loads((EXAMPLES / "failed_turns.ipynb").read_text())["cells"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_graph_of_langgraph_is_traced(server: ServerProcess) -> None:
    """It installs LangGraph at first."""
    done = run(server, "examples/langgraph_traced.py", python=str(client_venvs.python_of("example-langgraph")))
    turn = turn_of(server, done)
    assert (turn["agent_name"], turn["source"], turn["status"]) == ("trip planner", "langsmith", "completed")
    assert turn["session_name"].startswith("A weekend in Hamburg")
    assert turn["input_preview"] == "What should I pack for Hamburg?"
    assert turn["output_preview"] == "An umbrella: it rains in Hamburg, at 9 degrees."
    assert called(turn) == ["get_weather"]
    assert [step["type"] for step in turn["steps"]].count("inference") == 2


def test_each_example_has_a_row_on_their_page() -> None:
    """With the command that its own text says, where that is a program."""
    page = (EXAMPLES / "README.md").read_text()
    files = {path.name for path in EXAMPLES.iterdir() if path.name not in ("README.md", "__pycache__")}
    assert set(re.findall(r"^\| \[`([^`]+?)/?`\]", page, re.M)) == files
    for path in EXAMPLES.glob("*.py"):
        [command] = re.findall(r"^    (python .+?)(?: \[.*)?$", path.read_text(), re.M)
        assert f"`{command}" in page
