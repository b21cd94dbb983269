"""Memory that is free again: a process gives it back once its load is over, and a server keeps little of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import ROOT

pytestmark = pytest.mark.skipif("CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="about glibc's allocator")

STARTED = """
import os, sys
from agentsite import memory
memory.use_system_allocator()
print(os.getpid(), os.environ["PYTHONMALLOC"], *sys.argv[1:])
"""

LOADED = """
import sys
from agentsite.memory import ProcessMemory, resident_bytes
memory = ProcessMemory()
held = [bytes(20_000) for _ in range(int(sys.argv[1]))]
memory.release()
loaded = resident_bytes()
held = held[99::100]
for _ in range(3):
    memory.release()
print((loaded - resident_bytes()) // 2**20)
"""
"""Every hundredth of many pieces outlives the load, and so keeps what is free below it."""


def run(program: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """Its process and what it printed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONMALLOC"}
    line = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(line, cwd=ROOT, env=kept | environment, stdout=subprocess.PIPE, text=True) as process:
        told, _ = process.communicate()
    assert process.returncode == 0
    return process.pid, told.strip()


def test_a_program_starts_again_as_the_same_process_with_the_systems_allocator() -> None:
    pid, told = run(STARTED, "one", "two words")
    assert told == f"{pid} malloc one two words"


def test_a_choice_of_allocator_is_left_alone() -> None:
    pid, told = run(STARTED, PYTHONMALLOC="pymalloc")
    assert told == f"{pid} pymalloc"


@pytest.mark.parametrize(("pieces", "back_mib"), [(5_000, 80), (600, 9)])  # of 20 kB: 95 MiB, and 11
def test_what_a_load_has_left_behind_goes_back_when_it_is_over(pieces: int, back_mib: int) -> None:
    _, told = run(LOADED, str(pieces))
    assert int(told) >= back_mib
