"""One SDK tried: its program run against a server of its own, and what that server's log then says."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.sdks import page
from tests.support.live.caller import Caller, script
from tests.support.live.process import ServerProcess
from tests.support.live.program_trials import ProgramFailed, ended

HERE = Path(__file__).resolve().parent
Found = TypeVar("Found")
MODEL = "scripted/fast"
RUN_S, ASK_S, WAIT_S, LOOK_S = 120, 60.0, 15.0, 0.2
CITIES = ("Paris", "Atlantis")
"""What the tool is asked for; it knows no weather of the second."""
TOOL = "get_weather"
ARGUMENTS = tuple({"city": city} for city in CITIES)
ANSWERS = ("It is clear in Paris, at 18 degrees.", "Nobody knows the weather of Atlantis.")
RESULT = "The final word: about 18 degrees and clear."
FAILURE = "The final answer: there is no weather of Atlantis."
"""What each program's tool gives, and what it fails with."""
OWN = "type:inference%20source:native"
"""The query for the answers of this server's own model, where the log has their turns."""
STEPS = ("inference", "tool_execution", "inference")
SCRIPTS = tuple(
    script(f'call get_weather {{"city": "{city}"}}', "then", f"say {answer}")
    for city, answer in zip(CITIES, ANSWERS, strict=True)
)


@dataclass(frozen=True)
class Expected:
    """What an ``expected.toml`` says; its fields are told of in the docstring of this package."""

    agent: str
    source: str
    way: str
    session: str = ""
    api: str = "chat/completions"
    asked: tuple[str, ...] = SCRIPTS
    answers: tuple[str, ...] = ANSWERS
    waits: bool = False
    steps: tuple[str, ...] = STEPS
    tool: str = TOOL
    arguments: tuple[dict[str, str], ...] = ARGUMENTS
    failure: str = FAILURE
    variables: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str) -> Expected:
        said = tomllib.loads((HERE / name / "expected.toml").read_text())
        given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}
        return cls(**given)


@dataclass(frozen=True)
class Turn:
    """A reported turn: its row of the log, its steps' rows (those the API has types for), and it as a whole."""

    row: dict[str, Any]
    steps: list[dict[str, Any]]
    whole: dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """What the log has: the turns that were reported, and (input, output) tokens of each answer the model gave,
    in the order it gave them; and of programs that wait for somebody, the row of their turn while they did."""

    turns: list[Turn]
    answered: list[tuple[int, int]]
    waiting: dict[str, Any] = field(default_factory=dict)


def run(command: list[str], expected: Expected, server: ServerProcess, folder: Path) -> dict[str, Any]:
    """Run the SDK's program to its end. Returns the row of its turn that waited for an answer, empty where none did.
    Raises ProgramFailed."""
    waiting: dict[str, Any] = {}

    def typed() -> str:
        if not expected.waits:
            return ""
        waiting.update(_waiting(Caller(server.port), expected))
        return expected.asked[1]

    blocks = page.copied(Caller(server.port), expected.way)
    asked = {"COPIED": blocks[0], "FIRST": expected.asked[0], "SECOND": expected.asked[1], "MODEL": MODEL}
    anthropic = {"ANTHROPIC_BASE_URL": server.base, "ANTHROPIC_API_KEY": "local"}
    told = {**anthropic, **page.variables(blocks), **expected.variables, **asked}
    done = ended(command, folder, server, RUN_S, typed, **told)
    if done.returncode:
        raise ProgramFailed(done.stderr.strip()[-3000:])
    return waiting


def _waiting(caller: Caller, expected: Expected) -> dict[str, Any]:
    """Return the row of the first reported turn that waits; an empty one if none does in time."""

    def rows() -> list[dict[str, Any]]:
        answer = caller.get("/v1/logs/turns?q=status:awaiting_input").json
        return [row for row in answer["data"] if row["source"] == expected.source]

    return next(iter(_until(bool, rows, ASK_S)), {})


def seen(server: ServerProcess, expected: Expected, waiting: dict[str, Any], enough: Callable[[Seen], bool]) -> Seen:
    """What the log has as soon as that is ``enough``, at the latest when waiting makes no sense any more. ``waiting``
    is what `run` returned."""
    return _until(enough, lambda: _look(Caller(server.port), expected, waiting), WAIT_S)


def _until(enough: Callable[[Found], bool], look: Callable[[], Found], seconds: float) -> Found:
    """Return what ``look`` gives once that is ``enough``, or what it gives when so many seconds are over."""
    until = time.monotonic() + seconds
    while True:
        found = look()
        if enough(found) or time.monotonic() > until:
            return found
        time.sleep(LOOK_S)


def _look(caller: Caller, expected: Expected, waiting: dict[str, Any]) -> Seen:
    rows = caller.get("/v1/logs/turns?order=asc&limit=1000").json["data"]
    steps = caller.get("/v1/logs/steps?order=asc&limit=1000").json["data"]
    reported = [row for row in rows if row["source"] == expected.source]
    turns = [Turn(row, [one for one in steps if _is_shown(one, row)], _whole(caller, row)) for row in reported]
    return Seen(turns, _answered(caller, expected.api), waiting)


def _is_shown(step: dict[str, Any], turn: dict[str, Any]) -> bool:
    return bool(step["turn_id"] == turn["id"] and step["type"] != "other")


def _whole(caller: Caller, row: dict[str, Any]) -> dict[str, Any]:
    answer = caller.get(f"/v1/agents/{row['agent_id']}/session/{row['session_id']}/turn/{row['id']}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json
    return found


def _answered(caller: Caller, api: str) -> list[tuple[int, int]]:
    if api == "responses":  # by the log, which has those too that their clients ask not to store
        rows, names = caller.get(f"/v1/logs/steps?order=asc&limit=1000&q={OWN}"), ("input_tokens", "output_tokens")
    else:
        rows, names = caller.get(f"/v1/{api}?order=asc&limit=100"), ("prompt_tokens", "completion_tokens")
    return [(one["usage"][names[0]], one["usage"][names[1]]) for one in rows.json["data"]]
