"""A wall that does not stand is noticed, and named."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents.tools.providers.code_interpreter import CodeInterpreter
from agents.tools.providers.sandbox import Sandbox
from tests.tools.providers.sandboxed import Run

WEAKER = """#!/bin/sh
for each; do
    shift
    case "$each" in *"{what}"*) each=$(printf %s "$each" | sed "s/{what}/{instead}/"); esac
    set -- "$@" "$each"
done
exec {bwrap} "$@"
"""
"""A bubblewrap that understands something weaker than it was told."""

WITHOUT = {
    "the filter of calls": (
        "--seccomp",
        "--sync-fd",
        ["opens sockets", "starts other processes", "calls io_uring_setup"],
    ),
    "what makes / read only": ("--remount-ro", "--dir", ["writes more files into memory than it may"]),
    "a bound on files": ("nr_inodes=", "nr_inodes=9", ["writes more files into memory than it may"]),
    "a bound on their size": ("size=", "size=9", ["writes more files into memory than it may"]),
    "a limit on memory": ("RLIMIT_AS", "RLIMIT_RSS", ["has more memory than it may"]),
    "a limit on threads": ("RLIMIT_NPROC", "RLIMIT_RSS", ["starts any number of threads"]),
    "namespaces": ("--unshare-all", "--unshare-uts", ["sees other processes"]),
}


Trouble = Callable[[str], str | None]


@pytest.fixture(scope="module")
def trouble() -> Iterator[Trouble]:
    """What is said of a sandbox whose bubblewrap is a script."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # whoever runs the sandbox must get there
        bwrap = Path(folder, "bwrap")
        place = Sandbox(str(bwrap))

        def said(script: str) -> str | None:
            bwrap.write_text(script)
            bwrap.chmod(0o755)
            return asyncio.run(CodeInterpreter(place).check())

        yield said
        place.close()


@pytest.mark.parametrize("name", WITHOUT)
def test_a_missing_wall_is_named(run: Run, trouble: Trouble, name: str) -> None:
    what, instead, holes = WITHOUT[name]
    found = trouble(WEAKER.format(what=what, instead=instead, bwrap=shutil.which("bwrap")))
    assert found
    assert found.startswith("a program in its sandbox ")
    assert [hole for hole in holes if hole not in found] == []


def test_nothing_is_named_where_all_stand(run: Run, trouble: Trouble) -> None:
    assert trouble(WEAKER.format(what="--nothing", instead="", bwrap=shutil.which("bwrap"))) is None


def test_a_hole_is_named(trouble: Trouble) -> None:
    said = '{"reaches the network": true, "sees other processes": false}'
    assert trouble(f"#!/bin/sh\necho '{said}'\n") == "a program in its sandbox reaches the network"
