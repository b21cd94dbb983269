"""Functions of the settings on a live server: their imports are not the server's, and their process ends with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_stack_client import LlamaStackClient

from tests.support.live.process import eventually, running

pytestmark = pytest.mark.server

SHOP = """
import os
from agents import Agent

def ask_agent() -> str:
    print("asked")
    return Agent().name

def process() -> int:
    return os.getpid()
"""


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_function_imports_another_package_called_agents(tmp_path: Path, data: Path, is_killed: bool) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("class Agent:\n    name = 'not ours'\n")
    (tmp_path / "shop.py").write_text(SHOP)
    settings = {"PYTHONPATH": str(tmp_path), "TOOL_FUNCTIONS": "shop:ask_agent,shop:process"}
    own = tmp_path / "server"
    own.mkdir()
    with running(own, settings, data=data) as server:
        with LlamaStackClient(base_url=server.base, max_retries=0) as client:
            assert client.tool_runtime.invoke_tool(tool_name="ask_agent", kwargs={}).content == "not ours"
            process = Path("/proc", str(client.tool_runtime.invoke_tool(tool_name="process", kwargs={}).content))
        assert process.exists()
        eventually(lambda: "asked" in server.log)
        server.kill() if is_killed else server.stop()
        eventually(lambda: not process.exists())
