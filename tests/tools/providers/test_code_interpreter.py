"""Whatever a model writes runs in a place that holds; where one cannot be had, it does not run."""

from __future__ import annotations

import asyncio
import glob
import platform
import time
from pathlib import Path
from typing import Any

import pytest

from agents.tools.providers import sandbox as places
from agents.tools.providers.code_interpreter import CodeInterpreter
from agents.tools.providers.sandbox import Sandbox
from tests.tools.providers.sandboxed import CONTEXT, Run


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
    "the network": ("import socket; socket.create_connection(('127.0.0.1', 1), 2)", "Address family not supported"),
    "the virtual machine's host": ("import socket; socket.socket(40, 1).connect((2, 1024))", "Address family not"),
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
    "processes": ("import os\nwhile True:\n    os.fork() or __import__('time').sleep(9)", "PermissionError"),
    "threads": (
        "import threading\nthreading.stack_size(65536)\nlock = threading.Lock()\nlock.acquire()\n"
        "while True: threading.Thread(target=lock.acquire, daemon=True).start()",
        "can't start new thread",
    ),
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


WORKS = {
    "threads": "from concurrent.futures import ThreadPoolExecutor as Pool\nprint(sum(Pool(32).map(abs, range(9))))",
    "asyncio": "import asyncio\nasync def work(): print(await asyncio.to_thread(sum, range(9)))\nasyncio.run(work())",
    "a pool of threads": "from multiprocessing.pool import ThreadPool\nprint(sum(ThreadPool(4).map(abs, range(9))))",
    "a pair of sockets": "import socket\na, b = socket.socketpair()\na.send(b'36')\nprint(b.recv(2).decode())",
    "a temporary file": "import tempfile\nf = tempfile.TemporaryFile('w+')\nf.write('36')\nf.seek(0)\nprint(f.read())",
    "a database": "import sqlite3\nprint(sqlite3.connect('x.db').execute('select 36').fetchone()[0])",
    "a few hundred MiB": "held = b'x' * (300 * 2**20)\nprint(36)",
    "many files": "for n in range(10_000): open(str(n), 'w').close()\nprint(36)",
    "the machine's name": "import platform, uuid\nplatform.uname(), uuid.uuid1()\nprint(36)",
}


@pytest.mark.parametrize("name", WORKS)
def test_it_lets_work(run: Run, name: str) -> None:
    result = run(WORKS[name])
    assert result.content == "completed\n[stdout]\n36\n\n[/stdout]"


def test_it_stops_a_program_that_writes_without_end(run: Run) -> None:
    result = run("while True: print('x' * 1000)")
    assert result.error == "it wrote more than 1024 KiB"
    assert len(str(result.content)) < places.MAX_OUTPUT_BYTES + 1000


def test_it_stops_a_program_that_does_not_end(run: Run) -> None:
    shared = Sandbox()
    code = (
        "import signal, threading, time\nprint('begun', flush=True)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "threading.Thread(target=time.sleep, args=[600]).start()\ntime.sleep(600)"
    )
    outcome = asyncio.run(shared.run(code, wall_s=1.0))
    shared.close()
    assert outcome.stopped == "it did not end within 1 s"
    assert outcome.out == "begun\n"
    assert not _left_over()


def _left_over() -> list[str]:
    """Programs of the sandbox that still run, after a moment to die in."""
    deadline = time.monotonic() + 15
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
    assert tool.problem


def test_it_is_off_where_calls_cannot_be_filtered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    tool = CodeInterpreter(Sandbox("/bin/true"))
    assert asyncio.run(tool.check()) == "there is no filter of system calls for this processor, riscv64"
