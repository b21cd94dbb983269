"""One sandbox for the tests of a module."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from agents.tools.providers.code_interpreter import CodeInterpreter
from agents.tools.providers.sandbox import Sandbox
from tests.tools.providers.sandboxed import CONTEXT, Run, installed


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    if not installed() and not os.environ.get("CI"):
        pytest.skip("no bubblewrap on this machine")
    shared = CodeInterpreter(Sandbox())
    yield lambda code: asyncio.run(shared.call({"code": code}, CONTEXT))
    shared.close()
