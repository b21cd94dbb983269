"""Whatever fits the API's own description, or nearly does, is never answered with a 5xx; and answers and
errors are as described."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.process import ServerProcess

EXAMPLES = 40
"""Per operation."""
PATIENCE_S = 60
"""Of a request: one that names a server somewhere waits until that has not answered."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_never_answers_a_fuzzed_request_with_a_5xx(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    # of its own: it finds what others made, and their model waits, or fails, until it is told what to say
    fuzzed = start_server(MODEL_ENDPOINTS="{}")
    fuzz(fuzzed, tmp_path, "--checks", "not_a_server_error", "--max-examples", str(EXAMPLES))


CONFORMS = (
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)
"""Not that all is taken that fits: no schema says that what a body names is there, or goes together. Nor that
nothing else is: an empty parameter is one that was not given, and all that a form holds is text."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_answers_as_described(start_server: Callable[..., ServerProcess], tmp_path: Path) -> None:
    fuzzed = start_server(MODEL_ENDPOINTS="{}")
    fuzz(fuzzed, tmp_path, "--checks", ",".join(CONFORMS), "--max-examples", "10", "--seed", "1")


def fuzz(fuzzed: ServerProcess, tmp_path: Path, *options: str) -> None:
    command = [
        str(Path(sys.executable).parent / "schemathesis"),
        *("run", f"{fuzzed.base}/v1/openapi.json"),
        *("--phases", "examples,fuzzing"),
        *options,
        *("--request-timeout", str(PATIENCE_S)),
        *("--exclude-path-regex", "events$"),  # an endless stream where the turn waits
        "--no-color",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stdout.partition(" FAILURES ")[2][:8000] or done.stdout[-4000:]
    assert " passed" in done.stdout, done.stdout[-2000:]
