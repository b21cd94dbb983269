"""The checks behind ``make test`` and ``make check``, one after the other, each with its time.

``quick`` is the contributor's loop: lint, types, contracts, the tests on SQLite, a browser smoke.
``all`` adds PostgreSQL, the many cases of the corpus and the slow tests (kill rounds, fuzz, clients). It ends after
``CHECK_MINUTES``: on a slow machine it begins no further tests then, and says how many it left out.
``long`` is the corpus and the slow tests in full, on both databases: some hours, and no part of ``all``.
Everything is run to its end, and the exit status says whether all of it passed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests import ROOT, deadline

PYTHON = sys.executable
BIN = Path(PYTHON).parent
IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}
SOURCES = ["agents", "agentsite", "turnlog", "tests", "bench", "examples", "docs_build.py", "manage.py"]


# Every process of the tests would compile all of the project anew, and pytest rewrite each test: up to half of a
# start. What Python keeps for that is no part of the repository.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def run(*command: str, **environment: str) -> bool:
    """Run a command in the project's root; whether it succeeded."""
    name = " ".join(command).replace(f"{BIN}/", "")
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False)
    mark = "ok" if done.returncode == 0 else f"FAILED ({done.returncode})"
    print(f"--- {name}: {mark}, {time.monotonic() - started:.1f} s", flush=True)
    return done.returncode == 0


def lint() -> bool:
    tool = BIN
    return all(
        [
            run(f"{tool}/ruff", "format", "--check", "--quiet", *SOURCES),
            run(f"{tool}/ruff", "check", "--quiet", *SOURCES),
            run(f"{tool}/typos", "--quiet"),
        ]
    )


def types() -> bool:
    fresh = ["--no-incremental"] if IN_CI else []  # where nobody comes again, what it keeps is for nothing
    return run(f"{BIN}/mypy", *fresh, "agents", "agentsite", "turnlog", "bench", "examples", "tests")


def documentation() -> bool:
    """Build it: a dead link fails. The tests read what was built."""
    return run(PYTHON, "docs_build.py")


def contracts() -> bool:
    return run(f"{BIN}/lint-imports", "--no-cache")


def migrations() -> bool:
    """The models and the migrations say the same."""
    return run(PYTHON, "manage.py", "makemigrations", "--check", "--dry-run", "--verbosity", "0", "agents")


def pytest(*arguments: str, **environment: str) -> bool:
    """Two workers, each with a database and servers of its own. A file's tests stay together until a worker has
    nothing left to do, and takes some of the other's. The slowest tests are named, so that one that becomes slow
    is seen."""
    options = ("-q", "-n", "2", "--dist", "worksteal", "--durations", "20", "--durations-min", "0.5")
    return run(PYTHON, "-m", "pytest", *options, *arguments, **environment)


def browser() -> bool:
    """The browser smoke, where there is a Chromium or one can be had."""
    if not _chromium():
        print("--- browser tests: skipped, no Chromium (install the package chromium)", flush=True)
        return not IN_CI
    return pytest("-m", "browser and not slow", "tests/browser")


def _chromium() -> bool:
    if any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        return True
    if os.geteuid() or not shutil.which("apt-get"):
        return False
    run("apt-get", "update", "-qq")
    return run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium")


def _on_postgresql(tests: Callable[[str], bool]) -> bool:
    """Tests on the PostgreSQL server named by TEST_DATABASE_URL, or one of our own."""
    from tests.support.postgresql import server

    with server() as url:
        if url is None:
            print("--- PostgreSQL: skipped, there is no server and none could be started", flush=True)
            return not IN_CI
        return tests(url)


NOT_OF_THE_DATABASE = (
    "tests/agentsite/live/test_body_cap.py",
    "tests/agentsite/live/test_log.py",
    "tests/agentsite/live/test_private_files.py",
    "tests/agentsite/live/test_public_url.py",
    "tests/agentsite/live/test_request_shares.py",
    "tests/agentsite/test_command_line.py",
    "tests/bench",
    "tests/deploy",
    "tests/docs/test_site.py",
    "tests/feedback",
    "tests/identity",
    "tests/knowledge/live/test_document_bombs.py",
    "tests/knowledge/providers",
    "tests/knowledge/schemas",
    "tests/log_tools/live/test_transports.py",
    "tests/loop/inference",
    "tests/query",
    "tests/relay",
    "tests/responses/wire",
    "tests/safety",
    "tests/server/test_installed_subjects.py",
    "tests/telemetry/reading",
    "tests/test_architecture.py",
    "tests/test_front.py",
    "tests/test_messages.py",
    "tests/tools",
    "tests/turnlog",
    "tests/uikit",
)
"""Tests of what knows no database, as the contracts of imports say, has no statements but Django's, or is the same on
any: they need no second one."""


def postgresql() -> bool:
    """The tests again, on PostgreSQL, and what needs its many processes. The server that tests share, official clients
    among them, is three processes here: each request goes to one of them at random."""
    chosen = ("-m", "not browser and not slow or several", *(f"--ignore={path}" for path in NOT_OF_THE_DATABASE))
    return _on_postgresql(lambda url: pytest(*chosen, TEST_DATABASE_URL=url, TEST_SERVERS="3"))


def slow() -> bool:
    """What takes its time, often by waiting: two at a time, as each has a server of its own."""
    return pytest("-m", "(slow or lengthy) and not browser")


_ALL_OF_IT = ("-n", "0", "-m", "(corpus or slow) and not browser", "--timeout", "7200")


def long_on_sqlite() -> bool:
    return pytest(*_ALL_OF_IT, LONG_TESTS="1")


def long_on_postgresql() -> bool:
    with_server = partial(pytest, *_ALL_OF_IT, LONG_TESTS="1")
    return _on_postgresql(lambda url: with_server(TEST_DATABASE_URL=url))


def slow_browser() -> bool:
    """The same in the browser, where there is one; in a process of its own, as its driver leaves an event
    loop running that others stumble over."""
    if not _chromium():
        return True
    two_at_a_time = pytest("--dist", "loadfile", "-m", "slow and browser and not alone", "tests/browser")
    return pytest("-n", "0", "-m", "alone", "tests/browser") and two_at_a_time


def quick_tests() -> bool:
    return pytest("-m", "not browser and not slow and not corpus and not lengthy")


def beside(*steps: Callable[[], bool]) -> bool:
    """These at once, to their ends."""
    with ThreadPoolExecutor(len(steps)) as pool:
        return all(list(pool.map(lambda step: step(), steps)))


# much of the time of the tests is waiting for servers, in which the types are checked
QUICK: list[Callable[[], bool]] = [
    *(lint, contracts, documentation, migrations),
    lambda: beside(quick_tests, types),
    browser,
]
CHECK_MINUTES = float(os.environ.get("CHECK_MINUTES", "55"))
"""How long the long checks may begin tests; 0 is for ever."""
CHECK: list[tuple[int, Callable[[], bool]]] = [
    (26, postgresql),
    (6, lambda: pytest("-m", "corpus")),
    (44, slow),
    (24, slow_browser),
]
"""Each step with its share of the time, in percent; what one leaves over is for those behind it."""
LONG: list[Callable[[], bool]] = [long_on_sqlite, long_on_postgresql]


def within(minutes: float) -> list[bool]:
    """Run the long checks; whether each passed."""
    ends, left, passed = time.time() + minutes * 60, sum(share for share, _ in CHECK), []
    for share, step in CHECK:
        if minutes:
            now = time.time()
            os.environ[deadline.UNTIL] = str(now + (ends - now) * share / left)
        passed.append(step())
        left -= share
    return passed


def main(what: str) -> int:
    steps = {"quick": QUICK, "long": LONG, "lint": [lint, types, contracts]}
    passed = within(CHECK_MINUTES) if what == "all" else [step() for step in steps[what]]
    limit = f" that began within {CHECK_MINUTES:g} minutes" if what == "all" and CHECK_MINUTES else ""
    print(f"all checks{limit} passed" if all(passed) else "some checks FAILED", flush=True)
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "quick"))
