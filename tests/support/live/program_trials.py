"""Tries other people's programs one after the other, each in a folder of its own, and says what came of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.support.live.process import KEPT, ServerProcess
from tests.support.live.program_environments import CannotInstall, Program

Try = Callable[[list[str], Path], None]
"""Runs the command of a program in a folder, and looks at what comes of it."""


class ProgramFailed(Exception):
    """A program did not end well; the text is what it said."""


def say(line: str = "") -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def tried(program: Program, look: Try) -> tuple[str, float]:
    """Try a program, its environment made; returns what went wrong (empty: nothing), and how many seconds it took."""
    began, wrong = time.monotonic(), ""
    try:
        command = program.command()
        with tempfile.TemporaryDirectory(prefix=f"program-{program.name}-") as folder:
            look(command, Path(folder))
    # a server that does not answer, and a registry that does not, must not end the trials of the others
    except (CannotInstall, ProgramFailed, AssertionError, OSError, subprocess.TimeoutExpired) as error:
        wrong = f"{type(error).__name__}: {error}"
    return wrong, time.monotonic() - began


def ended(
    command: list[str],
    folder: Path,
    server: ServerProcess,
    seconds: float,
    typed: Callable[[], str] = str,
    /,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. Its environment points to the server as that of any OpenAI client does, and tells where
    the server is besides. ``typed`` is called while it runs; what that returns is all that it reads from a person.
    Raises ProgramFailed where it takes too long."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    pointed = {"OPENAI_BASE_URL": f"{server.base}/v1", "OPENAI_API_KEY": "local", "SERVER": server.base}
    given = {**kept, "NO_PROXY": "*", **pointed, **variables}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=given, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            words, complaints = process.communicate(typed(), timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise ProgramFailed(f"it did not end within {seconds:g} s") from error
        finally:
            process.kill()
    return subprocess.CompletedProcess(command, process.returncode, words, complaints)


def are_known(chosen: Iterable[str], known: Iterable[str]) -> bool:
    """Whether there are programs of these names; says which there are if not."""
    if unknown := set(chosen) - set(known):
        say(f"There is no {', '.join(sorted(unknown))}. There are: {', '.join(known)}.")
    return not unknown
