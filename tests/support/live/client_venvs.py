"""Virtual environments for clients that cannot live beside those of the tests: made when first asked
for, in ``.venvs`` of the project's root, and kept there."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT

PROGRAMS = ROOT / "tests" / "clients"
INSTALL_S, RUN_S = 600, 90
UNREACHABLE = ("NewConnectionError", "Temporary failure in name resolution", "ConnectTimeoutError", "ProxyError")
"""What pip says when it cannot reach its registry."""

# Its last release asks for Python 3.12 and runs on 3.11: what it needs is installed apart, so that
# nothing else is taken that does not.
LLAMA = "llama-stack-client==0.3.5"
LLAMA_NEEDS = [
    "anyio>=3.5,<5",
    "click",
    "distro",
    "fire",
    "httpx<1",
    "pandas",
    "prompt-toolkit",
    "pyaml",
    "pydantic<3",
    "requests",
    "rich",
    "sniffio",
    "termcolor",
    "tqdm",
    "typing-extensions",
]
SUITES: dict[str, list[list[str]]] = {
    "llama-stack-client-0.3.5": [["--no-deps", "--ignore-requires-python", LLAMA], LLAMA_NEEDS],
    "openai-agents": [["openai-agents"]],
    "example-langgraph": [["langgraph==1.2.22", "langchain-core==1.7.2", "langsmith==0.14.17"]],
}


def python_of(name: str) -> Path:
    """The interpreter of a suite's environment. Skips the test where the registry cannot be reached."""
    folder = ROOT / ".venvs" / name
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "installed.json"
        wanted = json.dumps(SUITES[name])
        if not done.exists() or done.read_text() != wanted:
            venv.create(folder, clear=True, with_pip=True)
            for arguments in SUITES[name]:
                install(folder / "bin" / "python", arguments)
            done.write_text(wanted)
    return folder / "bin" / "python"


def install(python: Path, arguments: list[str]) -> None:
    """Install into the environment of an interpreter. Skips the test where the registry cannot be reached."""
    line = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    made = subprocess.run(line, capture_output=True, text=True, timeout=INSTALL_S, env=_environment(), check=False)
    if made.returncode and any(words in made.stderr for words in UNREACHABLE):
        pytest.skip(f"the package registry cannot be reached, so {arguments[-1]} cannot be installed")
    assert made.returncode == 0, made.stderr[-4000:]


def _environment() -> dict[str, str]:
    """Ours, without what would let a program find our packages or settings."""
    ours = ("PYTHONPATH", "DJANGO_SETTINGS_MODULE", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in ours}


def run(name: str, program: str, *arguments: str) -> Any:
    """The JSON that a program of ``tests/clients`` prints in a suite's environment."""
    line = [str(python_of(name)), str(PROGRAMS / program), *arguments]
    made = subprocess.run(
        line,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        cwd=PROGRAMS,
        env={**_environment(), "NO_PROXY": "*"},
        check=False,
    )
    assert made.returncode == 0, made.stderr[-4000:]
    return json.loads(made.stdout)
