"""The wheel in an environment of its own, without the repository: installed, started, asked, seen on a page."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.support.live import client_venvs
from tests.support.live.process import eventually
from turnlog import __version__

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.timeout(900), pytest.mark.xdist_group("wheel")]

MAX_WHEEL = 3_000_000
ORDERS = """
from agents import Agent  # OpenAI's, as it is called in its own environment


def whose_agent(question: str) -> str:
    \"\"\"Say whose Agent this is.\"\"\"
    return f"{Agent.__module__}: {Agent(name='desk').name}, {question}"
"""


def environment(home: Path, **settings: str) -> dict[str, str]:
    """Nothing of ours but where programs are."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "PORT": "0", **settings}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made of a copy of what the repository has."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # one that is deleted and not committed yet is still listed
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    return build(source, folder / "first")


def build(source: Path, folder: Path) -> Path:
    line = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*line, "--wheel-dir", str(folder), str(source)], check=True)
    [made] = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def programs(wheel: Path) -> Path:
    """The folder of the programs of an environment that has the wheel, and what it needs. It is kept as long as that is
    the same; the wheel is put in anew. Each worker of a run has its own: another would take programs away that run."""
    folder = ROOT / ".venvs" / f"wheel{os.environ.get('PYTEST_XDIST_WORKER', '')}"
    wanted = hashlib.sha256((ROOT / "requirements.txt").read_bytes()).hexdigest()
    done = folder / "installed.txt"
    if not done.exists() or done.read_text() != wanted:
        venv.create(folder, clear=True, with_pip=True)
        client_venvs.install(folder / "bin" / "python", ["--require-hashes", "-r", str(ROOT / "requirements.txt")])
        done.write_text(wanted)
    client_venvs.install(folder / "bin" / "python", ["--no-deps", "--force-reinstall", str(wheel)])
    return folder / "bin"


@contextmanager
def served(programs: Path, folder: Path, **settings: str) -> Iterator[str]:
    """The address of a server that the installed command started in a folder that is not ours."""
    said = folder / "said.txt"
    with said.open("w") as file:
        process = subprocess.Popen(
            [programs / "turnlog"], cwd=folder, env=environment(folder, **settings), stdout=file, stderr=file
        )
    try:
        yield eventually(lambda: address(process, said), 60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, said.read_text()
        assert "Traceback" not in said.read_text()
    finally:
        process.kill()
        process.wait()


def address(process: subprocess.Popen[bytes], said: Path) -> str | None:
    """The address that a server has said, if it has; one that has ended will not."""
    assert process.poll() is None, said.read_text()
    found = re.search(r"^Logs +(http://\S+)/logs/$", said.read_text(), re.MULTILINE)
    return found.group(1) if found else None


def fetched(base: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def run(program: Path, *arguments: str, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments],
        cwd=cwd,
        env=environment(cwd, **settings),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


# --------------------------------------------------------------------------------------------- the file


def test_it_is_small_and_has_one_public_package(wheel: Path) -> None:
    assert wheel.stat().st_size <= MAX_WHEEL
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    assert {name.partition("/")[0] for name in names} == {"turnlog", f"turnlog-{__version__}.dist-info"}
    assert not [name for name in names if name.endswith((".po", ".pyc")) or "/tests/" in name]
    for part in (
        "agents/locale/de/LC_MESSAGES/django.mo",
        "templates/logs/list.html",
        "static/uikit/mark.svg",
        "docs/index.html",
        "docs/queries.md",
        "docs/llms.txt",
    ):
        assert f"turnlog/_app/{part}" in names


def test_it_is_the_same_whenever_it_is_made(wheel: Path, tmp_path: Path) -> None:
    again = build(wheel.parent.parent / "source", tmp_path)
    assert hashlib.sha256(again.read_bytes()).hexdigest() == hashlib.sha256(wheel.read_bytes()).hexdigest()


# --------------------------------------------------------------------------------------------- in use


def test_a_first_turn_is_seen_on_a_page(programs: Path, tmp_path: Path) -> None:
    with served(programs, tmp_path) as base:
        assert json.loads(fetched(base, "/v1/version")[1])["version"] == __version__
        [program] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        asked = run(
            Path(sys.executable), "-c", program.replace("http://localhost:8321", base), cwd=tmp_path, NO_PROXY="*"
        )
        assert (asked.returncode, asked.stderr) == (0, "")
        newest = json.loads(fetched(base, "/v1/logs/turns?limit=1")[1])["data"][0]
        for path in (f"/turns/{newest['id']}/", "/docs/", "/docs/queries/", "/docs/api/"):
            assert fetched(base, path)[0] == 200, path
        assert fetched(base, "/admin/")[0] == 302
        assert "Where is order 8841?" in fetched(base, "/logs/?q=started:%3E-1h")[1]
    data = tmp_path / ".local" / "share" / "turnlog"
    assert (data / "agents.sqlite3").exists()
    assert data.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir() if path.name not in (".local", "said.txt")] == []


def test_the_commands_work_beside_a_server(programs: Path, tmp_path: Path) -> None:
    with served(programs, tmp_path):
        listed = run(programs / "turnlog", "logs", "list", "status:failed", cwd=tmp_path)
        assert (listed.returncode, listed.stderr) == (0, "")
        assert listed.stdout
        kept = run(programs / "turnlog", "backup", str(tmp_path / "kept.zip"), cwd=tmp_path)
        assert kept.returncode == 0, kept.stderr
        assert (tmp_path / "kept.zip").stat().st_size > 10_000


def test_it_is_run_as_a_module_and_says_its_version(programs: Path, tmp_path: Path) -> None:
    said = run(programs / "python", "-m", "turnlog", "--version", cwd=tmp_path)
    assert said.stdout == f"Turnlog {__version__}\n"
    assert "http://localhost:4242/v1" in run(programs / "turnlog", "skill", cwd=tmp_path, PORT="4242").stdout


# ------------------------------------------------------------------------------------- beside openai-agents


@pytest.fixture(scope="module")
def beside(programs: Path) -> Path:
    """The same environment, with the distribution that calls itself ``agents``."""
    client_venvs.install(programs / "python", ["openai-agents"])
    return programs


def test_another_distribution_called_agents_keeps_its_name(beside: Path, tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(ORDERS)
    settings = {"TOOL_FUNCTIONS": "orders:whose_agent", "PYTHONPATH": str(tmp_path)}
    with served(beside, tmp_path, **settings) as base:
        assert called(base) == "agents.agent: desk, hello"
    theirs = run(beside / "python", "-c", "import agents, turnlog; print(agents.__file__)", cwd=tmp_path)
    assert theirs.stdout.strip().endswith("site-packages/agents/__init__.py"), theirs.stderr


def called(base: str) -> Any:
    connection = http.client.HTTPConnection(base.removeprefix("http://"), timeout=30)
    body = json.dumps({"tool_name": "whose_agent", "kwargs": {"question": "hello"}})
    connection.request("POST", "/v1/tool-runtime/invoke", body, {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer["content"]


# --------------------------------------------------------------------------------------- what is wrong


def test_an_incomplete_installation_says_so(tmp_path: Path) -> None:
    (tmp_path / "turnlog" / "_app").mkdir(parents=True)
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(ROOT / "turnlog" / name, tmp_path / "turnlog" / name)
    said = subprocess.run(
        [sys.executable, "-m", "turnlog"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert said.returncode == 1
    assert said.stderr.strip().endswith("lacks the server. Install it again.")
    assert said.stderr.count("\n") == 1


def test_half_a_wheel_is_refused(wheel: Path, programs: Path, tmp_path: Path) -> None:
    half = tmp_path / wheel.name
    half.write_bytes(wheel.read_bytes()[: wheel.stat().st_size // 2])
    said = run(programs / "python", "-m", "pip", "install", "--no-deps", str(half), cwd=tmp_path)
    assert said.returncode == 1
    assert "is invalid" in said.stderr
