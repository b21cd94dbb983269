"""The moment after which a run begins no further test: a slow machine tries less, and says how much.

``python -m tests.run all`` sets it for each of its steps. The order of tests is by chance, so another run leaves out
others; ``CHECK_MINUTES=0`` leaves out none.
"""

from __future__ import annotations

import os
import time

import pytest

UNTIL = "TESTS_UNTIL"
"""The variable that names the moment, in seconds since 1970."""
REASON = "no time was left; CHECK_MINUTES=0 has all"


def skip_if_over() -> None:
    """Skip the test that is about to begin if the moment has passed."""
    until = os.environ.get(UNTIL)
    if until and time.time() > float(until):
        # a run that is ended from outside, as CI ends those that take too long, says nothing of what it had tried
        pytest.skip(REASON)
