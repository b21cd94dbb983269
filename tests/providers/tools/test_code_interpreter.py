"""Whatever a model writes runs in a place that holds; where one cannot be had, it does not run."""

from __future__ import annotations

import asyncio
import glob
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.providers.tools import sandbox as places
from agents.providers.tools.base import ToolContext, ToolResult
from agents.providers.tools.code_interpreter import CodeInterpreter
from agents.providers.tools.sandbox import Sandbox

CONTEXT = ToolContext("session", "turn", "actor")
Run = Callable[[str], ToolResult]


def installed() -> bool:
    """Whether there is a bubblewrap, or one could be installed."""
    if not shutil.which("bwrap") and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "bubblewrap"], check=False, capture_output=True)
    return shutil.which("bwrap") is not None


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    if not installed() and not os.environ.get("CI"):
        pytest.skip("no bubblewrap on this machine")
    shared = Sandbox()
    yield lambda code: asyncio.run(CodeInterpreter(shared).call({"code": code}, CONTEXT))
    shared.close()


def test_it_says_what_a_program_printed(run: Run) -> None:
    result = run("import math\nprint(math.comb(10, 3))")
    assert (result.content, result.error) == ("completed\n[stdout]\n120\n\n[/stdout]", None)


def test_it_says_what_went_wrong_and_where(run: Run) -> None:
    result = run("x = 1\nprint('before')\nx / 0")
    assert isinstance(result.content, str)
    assert result.error == "the program ended with status 1"
    assert "before" in result.content
    assert "line 3, in <module>\n    x / 0" in result.content
    assert "ZeroDivisionError" in result.content
    assert "<string>" not in result.content


@pytest.mark.parametrize(
    ("code", "error"), [("if", "SyntaxError"), ("import sys; sys.exit(3)", "status 3"), ("x", "NameError")]
)
def test_a_program_that_does_not_run_is_told_of(run: Run, code: str, error: str) -> None:
    result = run(code)
    assert error in f"{result.content} {result.error}"


CONTAINED = {
    "the network": ("import socket; socket.create_connection(('127.0.0.1', 1), 2)", "refused"),
    "a name": ("import socket; socket.getaddrinfo('example.org', 80)", "gaierror"),
    "passwords": ("print(open('/etc/passwd').read())", "FileNotFoundError"),
    "the interpreter": ("open('/py/lib/x', 'w')", "Read-only"),
    "the environment": (
        "import os; assert set(os.environ) - {'PWD', 'PATH', 'LC_CTYPE', 'PYTHONHOME', 'LD_LIBRARY_PATH'}",
        "AssertionError",
    ),
    "root": ("import os; assert os.getuid() == 0", "AssertionError"),
    "memory": ("x = 'a' * 2**32", "MemoryError"),
    "a large file": ("open('f', 'wb').write(b'x' * 2**26)", "Error"),
    "processes": ("import os\nwhile True:\n    os.fork() or __import__('time').sleep(9)", "BlockingIOError"),
    "descriptors": ("files = [open('/code.py') for _ in range(200)]", "Too many open files"),
    "system calls": (
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.syscall(321, 0, 0, 0)\n"
        "raise OSError(ctypes.get_errno(), 'bpf')",
        "PermissionError",
    ),
    "user namespaces": (
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.unshare(0x10000000)\n"
        "raise OSError(ctypes.get_errno(), 'unshare')",
        "PermissionError",
    ),
}


@pytest.mark.parametrize("name", CONTAINED)
def test_it_contains(run: Run, name: str) -> None:
    code, error = CONTAINED[name]
    result = run(code)
    assert result.error
    assert error in str(result.content)


def test_it_stops_a_program_that_writes_without_end(run: Run) -> None:
    result = run("while True: print('x' * 1000)")
    assert result.error == "it wrote more than 1024 KiB"
    assert len(str(result.content)) < places.OUTPUT + 1000


def test_it_stops_a_program_that_does_not_end(run: Run) -> None:
    shared = Sandbox()
    code = (
        "import os, time\nprint('begun', flush=True)\nos.fork()\nos.setsid() if os.getpid() > 2 else 0\ntime.sleep(600)"
    )
    outcome = asyncio.run(shared.run(code, wall_s=1.0))
    shared.close()
    assert outcome.stopped == "it did not end within 1 s"
    assert outcome.out == "begun\n"
    assert not _left_over()


def _left_over() -> list[str]:
    """Programs of the sandbox that still run, after a moment to die in."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and (
        found := [path for path in glob.glob("/proc/[0-9]*/cmdline") if _is_ours(path)]
    ):
        time.sleep(0.05)
    return found


def _is_ours(path: str) -> bool:
    try:
        return b"/py/bin/python3" in Path(path).read_bytes()
    except OSError:
        return False


def test_every_run_begins_in_an_empty_folder(run: Run) -> None:
    assert run("open('kept', 'w').write('x')").error is None
    assert "[]" in str(run("import os; print(os.listdir('.'))").content)


@pytest.mark.parametrize("arguments", [{}, {"code": ""}, {"code": 5}, {"code": None}, {"program": "x"}])
def test_a_call_without_a_program_is_answered(arguments: dict[str, Any]) -> None:
    result = asyncio.run(CodeInterpreter().call(arguments, CONTEXT))
    assert result.error == "code: a program is needed, as a text."


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/bwrap"])
def test_it_is_off_where_its_walls_do_not_stand(program: str) -> None:
    place = Sandbox(program)
    tool = CodeInterpreter(place)
    result = asyncio.run(tool.call({"code": "print(1)"}, CONTEXT))
    place.close()
    assert result.error
    assert result.error.startswith("The code interpreter is off on this server: ")
    assert tool.trouble


def test_a_hole_is_named() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # whoever runs the sandbox must get there
        naive = Path(folder, "bwrap")
        naive.write_text('#!/bin/sh\necho \'{"reaches the network": true, "sees other processes": false}\'\n')
        naive.chmod(0o755)
        place = Sandbox(str(naive))
        trouble = asyncio.run(CodeInterpreter(place).check())
        place.close()
    assert trouble == "a program in its sandbox reaches the network"
