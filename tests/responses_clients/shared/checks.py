"""Runs the checks of a client's program. Knows nothing of the clients: it is imported in their environments."""

import asyncio
import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Any


def script(*lines: str) -> str:
    """A message that tells the scripted model what to do."""
    return "\n".join(["!script", *lines])


def run(*checks: Callable[[], Any]) -> None:
    """Run the checks one after the other, say ``passed`` or ``FAILED`` of each, and end with status 1 where one
    failed."""
    with asyncio.Runner() as loop:  # one for all: clients keep connections of theirs
        failed = [check.__name__ for check in checks if not _passes(check, loop)]
    sys.exit(1 if failed else 0)


def _passes(check: Callable[[], Any], loop: asyncio.Runner) -> bool:
    try:
        result = check()
        if inspect.iscoroutine(result):
            loop.run(result)
    except Exception as error:  # noqa: BLE001 - of whatever kind: it is told, and the other checks run
        sys.stdout.write(f"FAILED {check.__name__}\n")
        sys.stderr.write(f"{check.__name__}: {_told(error)}\n")
        return False
    sys.stdout.write(f"passed {check.__name__}\n")
    return True


def _told(error: Exception) -> str:
    """An error with the lines of the program that led to it."""
    lines = [line for line in traceback.extract_tb(error.__traceback__) if line.filename == sys.argv[0]]
    return "".join([*traceback.format_exception_only(error), *traceback.format_list(lines)])
