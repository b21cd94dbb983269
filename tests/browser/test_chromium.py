"""A browser that hangs costs the tests a moment, not all the time they have."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support.live.chromium import Chromium

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(120)]


def test_a_browser_that_does_not_close_a_context_is_begun_anew(
    chromium: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chromium, "closes_within_s", 1.0)
    context = chromium.open()
    context.new_page().goto("data:text/html,one")
    hanging = chromium.pid
    os.kill(hanging, signal.SIGSTOP)
    chromium.close(context)
    context = chromium.open()
    page = context.new_page()
    page.goto("data:text/html,<title>another</title>")
    assert page.title() == "another"
    assert chromium.pid != hanging
    chromium.close(context)
