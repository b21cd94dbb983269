"""The group ``builtin::code_interpreter``: Python that a model wrote, run in the sandbox.

Off, and saying why, where one of the sandbox's walls does not stand; nothing weaker takes its place.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from agents.loop.protocols.tools import Repeat, ServerToolGroup, ToolContext, ToolResult, failure
from agents.record.schemas.content import ToolDef
from agents.tools.providers import walls
from agents.tools.providers.sandbox import ProgramResult, Sandbox, SandboxUnavailable

log = logging.getLogger(__name__)

GROUP = "builtin::code_interpreter"
MAX_RUNNING = 2
CHECK_INTERVAL_S = 3600.0
"""How long a check of the walls is good for."""


class CodeInterpreter:
    """The group's one tool."""

    group = GROUP
    repeat: Repeat = "read"
    definition = ToolDef(
        name="code_interpreter",
        description=(
            "Run Python 3 (standard library only, no network, no files kept, one process: threads but no"
            " subprocess or multiprocessing) and return what it prints."
        ),
        input_schema={
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The program; print what you want to see"}},
            "required": ["code"],
        },
    )

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self.sandbox = sandbox or Sandbox()
        self.problem: str | None = None
        self._checked_at = float("-inf")
        self._checking = asyncio.Lock()
        self._slots = asyncio.Semaphore(MAX_RUNNING)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        code = arguments.get("code")
        if not isinstance(code, str) or not code.strip():
            return failure("code: a program is needed, as a text.")
        problem = await self.check()
        if problem:
            return failure(f"The code interpreter is off on this server: {problem}.")
        async with self._slots:
            try:
                return _result(await self.sandbox.run(code))
            except (SandboxUnavailable, OSError) as error:
                return failure(f"The code interpreter could not be started: {error}")

    async def check(self) -> str | None:
        """Prove the walls, at most once an hour; what is wrong with them, or None."""
        async with self._checking:
            if time.monotonic() - self._checked_at > CHECK_INTERVAL_S:
                self.problem = await walls.sandbox_problem(self.sandbox)
                self._checked_at = time.monotonic()
                if self.problem:
                    log.warning("the code interpreter is off: %s", self.problem)
        return self.problem

    def close(self) -> None:
        self.sandbox.close()


def group() -> ServerToolGroup:
    """The group; whether it works is looked at when it is first used, or asked."""
    tool = CodeInterpreter()
    return ServerToolGroup(GROUP, provider_id="code-interpreter", tools=[tool], check=tool.check)


def _result(outcome: ProgramResult) -> ToolResult:
    """The words of upstream's tool: how it ended, then what was written."""
    parts = ["completed" if outcome.status == 0 and not outcome.stopped else "error"]
    parts += [
        f"[{name}]\n{text}\n[/{name}]" for name, text in (("stdout", outcome.out), ("stderr", outcome.err)) if text
    ]
    output = "\n".join(parts)
    if outcome.stopped:
        return ToolResult(content=f"{output}\nThe program was stopped: {outcome.stopped}.", error=outcome.stopped)
    error = f"the program ended with status {outcome.status}" if outcome.status else None
    return ToolResult(content=output, error=error, metadata={"exit_status": outcome.status})
