"""A server without one of its subjects: it starts, answers, and knows nothing of what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.base.subjects import REMOVABLE, installed, left_out
from agents.server import checks

ROOT = Path(__file__).resolve().parents[2]
QUICK = "telemetry"
"""The one that is left out in the quick suite, too: the most of the product joins there."""


@pytest.mark.parametrize(
    "missing", [pytest.param(each, marks=[] if each == QUICK else pytest.mark.slow) for each in REMOVABLE]
)
def test_a_server_does_without(missing: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TEST_DATABASE_URL"}
    command = [sys.executable, "-m", "tests.server.without_subject", missing]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr


def test_all_are_installed_unless_told_otherwise() -> None:
    assert installed() == REMOVABLE
    assert left_out() == ()


def test_the_order_of_the_setting_does_not_matter(settings: Any) -> None:
    settings.INSTALLED_SUBJECTS = ["telemetry", "prices"]
    assert installed() == ("prices", "telemetry")
    assert "telemetry" not in left_out()


def test_a_name_that_is_none_is_refused(settings: Any) -> None:
    settings.INSTALLED_SUBJECTS = ["prices", "pricing"]
    [found] = list(checks.subjects())
    assert found.id == "agents.E005"
    assert "'pricing'" in found.msg


def test_a_subject_without_the_one_it_needs_is_refused(settings: Any) -> None:
    settings.INSTALLED_SUBJECTS = ["prices", "batches"]
    [error] = list(checks.subjects())
    assert error.id == "agents.E007"
    assert error.msg == "INSTALLED_SUBJECTS: 'batches' needs 'knowledge'."


def test_pages_that_need_a_login_that_is_missing_are_warned_of(settings: Any) -> None:
    settings.INSTALLED_SUBJECTS, settings.REQUIRE_LOGIN = ["prices"], True
    assert [found.id for found in checks.subjects()] == ["agents.W007"]
