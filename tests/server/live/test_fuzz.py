"""Whatever fits the API's own description, or nearly does, is never answered with a 5xx; and answers and
errors are as described."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.depth import deep
from tests.support.live.process import ServerProcess

EXAMPLES = deep(8, 300)
"""Per operation."""
PATIENCE_S = 60
"""Of a request: one that names a server somewhere waits until that has not answered."""


@pytest.mark.slow
@pytest.mark.timeout(deep(900, 7200))
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
@pytest.mark.timeout(deep(900, 7200))
def test_it_answers_as_described(start_server: Callable[..., ServerProcess], tmp_path: Path) -> None:
    fuzzed = start_server(MODEL_ENDPOINTS="{}")
    fuzz(fuzzed, tmp_path, "--checks", ",".join(CONFORMS), "--max-examples", str(deep(5, 20)), "--seed", "1")


UNSAID = {
    r"beyond 64 bits": "numbers in fields of the caller's own, and in those that nobody knows",
    r"^Unknown time zone": "the names of zones are a data base that changes twice a year",
    r"nothing to search for|cannot be searched for|^Unknown field|^q: |Expected ": "a query has a grammar",
    r"^by: |^fields: ": "names with commas between them, which depend on the level",
    r"^(after|before): (not the id of|there is no item)": "an id of what is listed: the kind is not always told",
    r"either after or before, not both|give exactly one of": "parameters of a query know nothing of each other",
    r"with the outcome 'result', and only then": "fields that go together",
    r"^mcp_endpoint: ": "JSON in a text",
    r"^[a-z.0-9]+: This URL is refused": "where a URL may lead, and whether it leads anywhere, is looked up",
    r"^format: ": "in a form, and the formats are those that the server can tell",
    r"^(whole|fields|bom): |parquet": "what may be exported depends on the other parameters",
    r"this server has no |not available on this server": "depends on what the server has",
    r"^(expression|timezone|run_at|target)\b|^Missing required parameter: '(expression|timezone|run_at)'": (
        "fields of an automation that go together, times that have a grammar, and are to come"
    ),
    r"^Missing required parameter: 'agent": "an agent is named, or given with its model",
    r"server_url: |URL": "what a URL is, no pattern says",
    r"takes texts, not tokens|^model: |^provider_id: |have no embedding here": "depends on what the server has",
    r"more than half of": "a number that depends on another",
    r"^The (upload|batch|automation) (is|has)": "what has become of it meanwhile",
    r"^filters\b": "a filter is read by hand, so that one refusal names the place in it",
    r"budget": "limits and targets that go together; and a budget that was made before is reached",
    r"^tool_choice: |two tools named": "tools of the same request, their names and a choice among them",
    r"^thread: ": "a field that is known to be refused in the words that its clients understand",
    r"grammar|not a regular expression": "a grammar has a grammar",
    r"^input: there is nothing in it": "what is summed up may be an earlier response instead",
    r"^No tool call found|call_id: missing": "an answer to a call of the same input",
    r"characters|KiB|bytes": "lengths in bytes, or of a value as JSON",
    r"twice|more than once|two documents": "ids that are not to be the same in objects that differ",
}
"""What is refused though it fits the description: what the refusal says, and why no schema says it. The words
about the field or parameter say it instead."""
REFUSAL = re.compile(
    r'^    `\{(?:"type":"error",)?"error":\{(?:"type":"\w+",)?"message":"(.*?)(?:","type":|"\},"request_id"|$)',
    re.MULTILINE,
)


@pytest.mark.slow
@pytest.mark.timeout(deep(900, 7200))
def test_what_fits_the_description_is_taken(start_server: Callable[..., ServerProcess], tmp_path: Path) -> None:
    fuzzed = start_server(MODEL_ENDPOINTS="{}")
    options = ("--mode", "positive", "--continue-on-failure", "--max-examples", str(deep(10, 100)), "--seed", "1")
    done = run(fuzzed, tmp_path, "--checks", "positive_data_acceptance", *options)
    refused = REFUSAL.findall(done.stdout)
    assert len(refused) == done.stdout.count("ST202 Schema-valid request rejected\n\n"), done.stdout[-4000:]
    assert len(refused) > 5  # or nothing was read
    more = [words for words in refused if not any(re.search(rule, words) for rule in UNSAID)]
    assert not more, "\n".join(more)


def fuzz(fuzzed: ServerProcess, tmp_path: Path, *options: str) -> None:
    done = run(fuzzed, tmp_path, *options)
    assert done.returncode == 0, done.stdout.partition(" FAILURES ")[2][:8000] or done.stdout[-4000:]
    assert " passed" in done.stdout, done.stdout[-2000:]


def run(fuzzed: ServerProcess, tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        str(Path(sys.executable).parent / "schemathesis"),
        *("run", f"{fuzzed.base}/v1/openapi.json"),
        *("--phases", "examples,fuzzing"),
        *options,
        *("--request-timeout", str(PATIENCE_S)),
        *("--exclude-path-regex", "events$"),  # an endless stream where the turn waits
        "--no-color",
    ]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=deep(800, 7000), check=False)
