"""However a program asks for memory, it gets what its limits say, and all it holds together is bounded."""

from __future__ import annotations

import pytest

from agents.tools.providers.bubblewrap import MAX_FILES, MAX_FOLDER_BYTES, MAX_MEMORY_BYTES
from tests.tools.providers import attacks
from tests.tools.providers.sandboxed import Run

OWN, FILED = MAX_MEMORY_BYTES // 2**20, MAX_FOLDER_BYTES // 2**20
BUFFERED = 64
"""About 200 sockets can be had, and each holds 208 KiB unless a program may set its size."""

QUICK = {
    "files in /": (attacks.fill("/"), 0),
    "files in /dev": (attacks.fill("/dev"), 0),
    "files in /tmp": (attacks.fill("/tmp"), 0),
    "files in /dev/shm": (attacks.fill("/dev/shm"), FILED),
    "files in /box": (attacks.fill("/box"), FILED),
    "children": (attacks.CHILDREN, 0),
    "other programs": (attacks.SPAWNED, 0),
    "a bomb of forks": (attacks.FORK_BOMB, 0),
    "nameless files": (attacks.NAMELESS_FILES, 0),
    "shared mappings": (attacks.SHARED_MAPPINGS, OWN),
    "segments of System V": (attacks.SEGMENTS, 0),
    "pages lent to pipes": (attacks.LENT_PAGES, 0),
    "connections that wait": (attacks.WAITING_CONNECTIONS, 0),
    "bytes in sockets": (attacks.SENT_SOCKETS, BUFFERED),
    "a table of futexes": (attacks.FUTEXES, 0),
    "empty files in /box": (attacks.empty_files("/box"), MAX_FILES // 1024),
    "empty files in /dev/shm": (attacks.empty_files("/dev/shm"), MAX_FILES // 1024),
}


@pytest.mark.parametrize("name", QUICK)
def test_memory_is_bounded(run: Run, name: str) -> None:
    program, most = QUICK[name]
    assert _got(run, program) <= most


def test_files_in_memory_count_together(run: Run) -> None:
    both = attacks.fill("/box") + attacks.fill("/dev/shm").replace("got = 0", "got = got")
    assert 0 < _got(run, both) <= FILED


@pytest.mark.slow
def test_page_tables_take_no_more_than_the_memory_they_are_for(run: Run) -> None:
    assert OWN / 2 < _got(run, attacks.PAGE_TABLES) <= 2 * OWN


def _got(run: Run, program: str) -> int:
    return int(str(run(program).content).split("[stdout]\n")[1].split("\n[/stdout]")[0].split()[-1])
