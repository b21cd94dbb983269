"""The command: every client, or those named, and a table of what came of them. Its status is 1 where a check fails."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.support.live.caller import Caller
from tests.support.live.mcp_process import McpProcess, served
from tests.support.live.process import ServerProcess, running
from tests.support.live.program_environments import Program, programs
from tests.support.live.program_trials import are_known, ended, say, tried

HERE = Path(__file__).resolve().parent
SHARED = HERE / "shared"
MODEL, GPT_MODEL = "scripted/fast", "gpt-4.1"
RUN_S = 240
_CHECK = re.compile(r"^(passed|FAILED) (\w+)$", re.MULTILINE)


@dataclass
class Outcome:
    """What came of one client: the checks that passed and failed, and what was said of the latter."""

    client: Program
    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    wrong: str = ""
    seconds: float = 0.0

    def row(self) -> str:
        verdict = "FAILED" if self.wrong else "passed"
        counted = f"{len(self.passed)} of {len(self.passed) + len(self.failed)}"
        return f"{self.client.name:<16}{self.client.version:<28}{counted:>9}  {verdict:<8}{self.seconds:>6.1f} s"


def outcome_of(client: Program) -> Outcome:
    """A client, tried; whatever happens is told in the outcome."""
    outcome = Outcome(client)
    wrong, outcome.seconds = tried(client, partial(_try, outcome))
    outcome.wrong += wrong
    return outcome


def _try(outcome: Outcome, command: list[str], folder: Path) -> None:
    work = folder / "work"
    work.mkdir()
    with served() as mcp, running(folder, {"KEEP_UNSTORED": "1"}) as server:
        _name_model(server)
        done = ended(command, work, server, RUN_S, **_given(mcp))
    for verdict, check in _CHECK.findall(done.stdout):
        (outcome.passed if verdict == "passed" else outcome.failed).append(check)
    if done.returncode or outcome.failed or not outcome.passed:
        outcome.wrong = done.stderr.strip()[-6000:] or f"it ended with {done.returncode}"


def _name_model(server: ServerProcess) -> None:
    named = {"model_id": GPT_MODEL, "provider_id": "scripted", "provider_model_id": "fast"}
    answer = Caller(server.port).post("/v1/models", named)
    assert answer.status == 200, answer.body


def _given(mcp: McpProcess) -> dict[str, str]:
    """The variables of a program."""
    told = {"MODEL": MODEL, "GPT_MODEL": GPT_MODEL, "MCP_SERVER": mcp.url}
    return told | {"PYTHONPATH": str(SHARED), "CHECKS": str(SHARED / "checks.mjs")}


def main(chosen: list[str]) -> int:
    known = programs(HERE, "client")
    if not are_known(chosen, known):
        return 2
    outcomes = []
    say(f"{'client':<16}{'version':<28}{'checks':>9}  {'verdict':<8}{'time':>8}")
    for name in chosen or known:
        outcomes.append(outcome_of(known[name]))
        say(outcomes[-1].row())
        say(f"    {', '.join([*outcomes[-1].passed, *(f'NOT {one}' for one in outcomes[-1].failed)])}")
        for line in outcomes[-1].wrong.splitlines():
            say(f"    {line}")
    return 1 if any(outcome.wrong for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
