"""The chat of Next.js, built and served as its row on the page of the examples says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests import ROOT
from tests.support.live import program_environments
from tests.support.live.caller import Caller
from tests.support.live.process import KEPT, ServerProcess, eventually

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(900)]

BUILD_S, START_S = 600, 60


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the chat, built: beside the environments of other programs, as Node looks for packages there."""
    if not shutil.which("npm"):
        pytest.skip("there is no npm here, and the checks promise to need nothing but Python, git and make")
    folder = ROOT / ".venvs" / "example-nextjs-chat"
    sources = ROOT / "examples" / "nextjs-chat"
    shutil.copytree(sources, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", ".next"))
    for line in (["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], ["npx", "next", "build"]):
        done = subprocess.run(
            line, cwd=folder, env=environment(), capture_output=True, text=True, timeout=BUILD_S, check=False
        )
        if "ENOTFOUND" in done.stderr or "ECONNREFUSED" in done.stderr:
            pytest.skip("the package registry cannot be reached, so Next.js cannot be installed")
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def environment(**more: str) -> dict[str, str]:
    passed = {
        name: value for name, value in os.environ.items() if name in KEPT or program_environments.REGISTRIES.match(name)
    }
    return {**passed, "NEXT_TELEMETRY_DISABLED": "1", **more}


@contextmanager
def serving(built: Path, server: ServerProcess, log: Path) -> Iterator[Caller]:
    """The chat's own server on a free port, talking to ours."""
    line = ["node", str(built / "node_modules" / "next" / "dist" / "bin" / "next"), "start", "--port", "0"]
    variables = environment(TURNLOG_URL=server.base, NO_PROXY="*")
    with (
        log.open("w") as output,
        subprocess.Popen(line, cwd=built, env=variables, stdout=output, stderr=output) as chat,
    ):
        try:
            said = eventually(lambda: re.search(r"http://localhost:([1-9]\d*)", log.read_text()), START_S)
            eventually(lambda: "Ready" in log.read_text(), START_S)
            yield Caller(int(said[1]))
        finally:
            chat.terminate()


def say(chat: Caller, messages: list[dict[str, Any]], text: str) -> str:
    """Send what somebody types, as the page does; the answer is added to the messages, and returned."""
    messages.append({"id": f"m{len(messages)}", "role": "user", "parts": [{"type": "text", "text": text}]})
    answer = chat.post("/api/chat", {"id": "a-chat", "messages": messages})
    assert answer.status == 200, answer.body
    data = [line.removeprefix("data: ") for line in answer.body.decode().splitlines() if line.startswith("data: {")]
    events = [json.loads(line) for line in data]
    said = "".join(event["delta"] for event in events if event["type"] == "text-delta")
    [metadata] = [event["messageMetadata"] for event in events if event["type"] == "start"]
    parts = [{"type": "text", "text": said}]
    messages.append({"id": f"m{len(messages)}", "role": "assistant", "metadata": metadata, "parts": parts})
    return said


def test_a_chat_is_answered_and_is_one_session(server: ServerProcess, built: Path, tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = []
    with serving(built, server, tmp_path / "next.log") as chat:
        assert "<h1>Chat</h1>" in chat.get("/").body.decode()
        assert "`lookup_order` says" in say(chat, messages, "Where is order 8841?")
        assert "Where is order 8841?" in say(chat, messages, "And what did I ask first?")
    log = urlsplit(messages[-1]["metadata"]["log"])
    ours = Caller(server.port)
    assert ours.get(f"{log.path}?{log.query}").status == 200
    turns = ours.get(f"/v1/logs/turns?{log.query}").json["data"]
    assert {(turn["agent_name"], turn["session_name"]) for turn in turns} == {("shop chat", "Chat a-chat")}
    assert [turn["input_preview"] for turn in turns] == ["And what did I ask first?", "Where is order 8841?"]
