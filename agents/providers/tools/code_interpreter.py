"""The group ``builtin::code_interpreter``: Python that a model wrote, run in the sandbox.

Off, and saying why, where one of the sandbox's walls does not stand; nothing weaker takes its place.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any

from agents.providers.tools.base import ToolContext, ToolGroup, ToolResult, failure
from agents.providers.tools.sandbox import Outcome, Sandbox, Unavailable
from agents.schemas.content import ToolDef

log = logging.getLogger(__name__)

GROUP = "builtin::code_interpreter"
AT_ONCE = 2
CHECKED_S = 3600.0
"""How long a check of the walls is good for."""

PROBES = """
import json, os, socket
known = {"PYTHONHOME", "LD_LIBRARY_PATH", "PATH", "PWD", "LC_CTYPE"}
def refused(what):
    try:
        return what() is None
    except OSError:
        return True
def forks():
    count = 0
    try:
        while count < 500:
            if os.fork() == 0:
                import time
                time.sleep(20)
                os._exit(0)
            count += 1
    except OSError:
        pass
    return count
def kill_all():
    try:
        os.kill(1, 9)
    except OSError:
        pass
kill_all()
print(json.dumps({
    "reaches the network": not refused(lambda: socket.create_connection(("192.0.2.1", 80), 0.2)),
    "sees this machine's network": os.path.exists("/sys/class/net") or len(socket.if_nameindex()) > 1,
    "reads the machine's files": any(map(os.path.exists, ("/etc/passwd", "/root", "/home", "/var"))),
    "writes to its own interpreter": not refused(lambda: open("/py/lib/x", "w")),
    "sees the server's environment": not set(os.environ) <= known,
    "sees other processes": len([name for name in os.listdir("/proc") if name.isdecimal()]) > 3,
    "starts any number of processes": forks() >= 100,
}), flush=True)
os._exit(0)
"""


class CodeInterpreter:
    """The group's one tool."""

    group = GROUP
    definition = ToolDef(
        name="code_interpreter",
        description="Run Python 3 (standard library only, no network, no files kept) and return what it prints.",
        input_schema={
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The program; print what you want to see"}},
            "required": ["code"],
        },
    )

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self.sandbox = sandbox or Sandbox()
        self.trouble: str | None = None
        self._checked_at = float("-inf")
        self._checking = asyncio.Lock()
        self._places = asyncio.Semaphore(AT_ONCE)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        code = arguments.get("code")
        if not isinstance(code, str) or not code.strip():
            return failure("code: a program is needed, as a text.")
        trouble = await self.check()
        if trouble:
            return failure(f"The code interpreter is off on this server: {trouble}.")
        async with self._places:
            try:
                return _told(await self.sandbox.run(code))
            except (Unavailable, OSError) as error:
                return failure(f"The code interpreter could not be started: {error}")

    async def check(self) -> str | None:
        """Prove the walls, at most once an hour; what is wrong with them, or None."""
        async with self._checking:
            if time.monotonic() - self._checked_at > CHECKED_S:
                self.trouble = await self._probe()
                self._checked_at = time.monotonic()
                if self.trouble:
                    log.warning("the code interpreter is off: %s", self.trouble)
        return self.trouble

    async def _probe(self) -> str | None:
        try:
            outcome = await self.sandbox.run(PROBES, wall_s=10)
        except (Unavailable, OSError) as error:
            return str(error)
        try:
            holes = [name for name, open_ in json.loads(outcome.out).items() if open_]
        except (ValueError, AttributeError):
            return f"its sandbox does not start ({(outcome.err or outcome.stopped).strip()[-200:] or outcome.status})"
        return f"a program in its sandbox {' and '.join(holes)}" if holes else None

    def close(self) -> None:
        self.sandbox.close()


def group() -> ToolGroup:
    """The group; whether it works is looked at when it is first used, or asked."""
    tool = CodeInterpreter()
    return ToolGroup(GROUP, provider_id="code-interpreter", tools=[tool], check=tool.check)


def _told(outcome: Outcome) -> ToolResult:
    """The words of upstream's tool: how it ended, then what was written."""
    parts = ["completed" if outcome.status == 0 and not outcome.stopped else "error"]
    parts += [
        f"[{name}]\n{text}\n[/{name}]" for name, text in (("stdout", outcome.out), ("stderr", outcome.err)) if text
    ]
    words = "\n".join(parts)
    if outcome.stopped:
        return ToolResult(content=f"{words}\nThe program was stopped: {outcome.stopped}.", error=outcome.stopped)
    error = f"the program ended with status {outcome.status}" if outcome.status else None
    return ToolResult(content=words, error=error, metadata={"exit_status": outcome.status})
