"""Every command and program in README and the documentation runs, against a live server; what does not is named here,
with what runs it elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, running

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.timeout(600)]

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_STARTS = re.compile(r"\bturnlog(?= *(#|$))", re.MULTILINE)
"""A server that is started: its settings are checked instead."""
LOCAL = "http://localhost:8321"

ELSEWHERE = {
    "make serve": "what runs these tests",
    "make test": "what runs these tests",
    "uvx turnlog": "tests/turnlog/test_wheel.py installs and runs the package",
    "pipx run turnlog": "the same",
    "pip install turnlog": "the same",
    "docker ": "tests/deploy",
    "python my_agent.py": "tests/sdks has such programs",
    "python my_graph.py": "the same",
    "ANTHROPIC_": "tests/responses_clients runs Claude Code",
    "turnlog restore": "tests/agentsite/live/test_backup.py",
    "turnlog copy_to_postgres": "the same",
    "turnlog logs tail": "it has no end; tests/server/command_line",
    "turnlog partition": "of PostgreSQL alone; tests/record",
    "client.webhooks.unwrap": "it needs what a webhook was sent; tests/webhooks",
}
"""Beginnings or parts of lines that are not run here."""


@dataclass(frozen=True)
class Snippet:
    page: Path
    number: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.number}"


def snippets() -> list[Snippet]:
    return [
        Snippet(page, number, language, text)
        for page in PAGES
        for number, (language, text) in enumerate(_BLOCK.findall(page.read_text()), start=1)
        if page.name not in ("deploy.md", "python-client.md")  # tests/deploy and tests/turnlog/client have these
    ]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running(tmp_path_factory.mktemp("demo"), {"FETCH_ALLOW_PRIVATE": "true"}, demo=True) as server:
        yield server


@pytest.fixture
def base(demo: ServerProcess) -> str:
    return f"http://127.0.0.1:{demo.port}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, demo: ServerProcess) -> Path:
    """What the commands find: the command itself, and the files that the pages speak of."""
    folder = tmp_path_factory.mktemp("snippets")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "turnlog").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/manage.py" "$@"\n')
    real = shutil.which("curl")
    assert real, "curl is needed"
    (programs / "curl").write_text(f'#!/bin/sh\nexec "{real}" --fail-with-body --noproxy "*" "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    (folder / "backups").mkdir()
    (folder / "shop").mkdir()
    [function] = [one.text for one in snippets() if one.text.startswith("# shop/tools.py")]
    (folder / "shop" / "tools.py").write_text(f"{function}\n\ndef refund(order_id: str) -> str:\n    return order_id\n")
    (folder / "turnlog.env").write_text("MAX_RUNNING=8\r\nLOG_LEVEL=INFO\r\n")
    [request] = re.findall(r"```json\n(\{.*?\})\n```", (ROOT / "docs" / "batches.md").read_text(), re.DOTALL)[:1]
    (folder / "requests.jsonl").write_text(f"{json.dumps(json.loads(request))}\n")
    return folder


def placed(text: str, base: str, demo: ServerProcess, folder: Path) -> str:
    """The text with what only this server has: its address, and ids in the place of what stands for them."""
    caller = Caller(demo.port)
    agents = caller.get("/v1/agents").json["data"]
    known = {agent["agent_config"]["name"]: agent["agent_id"] for agent in agents}
    prompt = caller.post("/v1/prompts", {"prompt": "Answer as {{ role }} would, in {{ language }}."}).json["prompt_id"]
    values = {
        LOCAL: base,
        '"agent_id": "…"': f'"agent_id": "{known["support"]}"',
        "0b7c1d2e-…": known["research"],
        "order desk": "support",
        "pmpt_…": prompt,
        "/backups/": f"{folder}/backups/",
        "https://receiver.example/hook": f"{base}/hook",
    }
    for written, value in values.items():
        text = text.replace(written, value)
    return text


def run_here(text: str) -> str:
    """The lines that are run here."""
    return "".join(line for line in text.splitlines(keepends=True) if not any(part in line for part in ELSEWHERE))


@pytest.mark.parametrize("snippet", [pytest.param(one, id=one.name) for one in snippets() if one.language == "sh"])
def test_a_command_runs(snippet: Snippet, base: str, demo: ServerProcess, folder: Path) -> None:
    commands = _STARTS.sub("turnlog check", run_here(placed(snippet.text, base, demo, folder)))
    commands = commands.replace("turnlog.env\n", "turnlog.env check\n")
    path = f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env={**demo.environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("snippet", [pytest.param(one, id=one.name) for one in snippets() if one.language == "python"])
def test_a_program_runs(
    snippet: Snippet, base: str, demo: ServerProcess, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = run_here(placed(snippet.text, base, demo, folder))
    monkeypatch.chdir(folder)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "NO_PROXY": "*", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{program}\n{done.stderr}"


def test_what_is_run_elsewhere_is_still_written() -> None:
    texts = "".join(one.text for one in snippets())
    pages = "".join(page.read_text() for page in PAGES)
    assert [part for part in ELSEWHERE if part not in texts and part not in pages] == []


def test_the_documentation_has_snippets() -> None:
    counted: dict[str, Any] = {}
    for one in snippets():
        counted[one.language] = counted.get(one.language, 0) + 1
    assert counted["sh"] > 15
    assert counted["python"] > 8
