"""What a run of the tests does once its time is over."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import ROOT, deadline


@pytest.mark.parametrize(("until", "outcome"), [("1", "skipped"), ("99999999999", "passed")])
def test_no_test_begins_after_the_moment_that_is_named(until: str, outcome: str) -> None:
    one = "tests/uikit/test_charts.py::test_columns_share_the_width"
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", one]
    environment = {**os.environ, deadline.UNTIL: until}
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert f"1 {outcome}" in done.stdout
    assert (deadline.REASON in done.stdout) is (outcome == "skipped")
