"""The page of the client: what it shows is run, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests import ROOT
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server


def test_what_the_page_shows_runs(server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_URL", server.base)
    monkeypatch.chdir(tmp_path)
    with httpx2.Client(base_url=f"{server.base}/v1", timeout=60) as http:
        config = {"agent_config": {"name": "shown", "model": "scripted/fast", "instructions": ""}}
        path = f"/agents/{http.post('/agents', json=config).json()['agent_id']}/session"
        session = http.post(path, json={"session_name": "shown"}).json()["session_id"]
        http.post(f"{path}/{session}/turn", json={"messages": [{"role": "user", "content": "hello"}]})
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python-client.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    names["log"].close()
    assert len(blocks) == 6
    assert (names["forked"].status, names["path"].stat().st_size > 0) == ("completed", True)
