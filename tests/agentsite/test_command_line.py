"""The command line: what it says of itself, files of settings, and what it says where it cannot start."""

from __future__ import annotations

import ast
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agentsite.command_line import COMMANDS
from tests import ROOT
from turnlog import __version__


def run(*arguments: str, program: str = "manage.py", **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    line = [sys.executable, *program.split(), *arguments]
    return subprocess.run(
        line, cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True, check=False, timeout=60
    )


def refusal(*arguments: str, program: str = "manage.py", **environment: str) -> str:
    """The one line that says why."""
    done = run(*arguments, program=program, **environment)
    assert done.returncode == 1, done.stdout
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.strip()


def test_help_names_every_command() -> None:
    said = run("--help").stdout
    assert [name for name in COMMANDS if f"\n  {name} " not in said] == []


def test_it_says_its_version() -> None:
    assert run("--version").stdout == run("version", program="-m turnlog").stdout == f"Turnlog {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["shell", "-c", "print('word ' * 100_000)"]])
def test_whoever_reads_what_it_says_may_leave(arguments: list[str], tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    line = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(
        line, cwd=ROOT, env=environment, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False, timeout=60
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


# ---------------------------------------------------------------------------------------- files of settings


@pytest.mark.parametrize("text", ["MAX_RUNNING=many\n", "\ufeffMAX_RUNNING=many\r\n", 'export MAX_RUNNING="many"\r\n'])
def test_a_file_of_settings_is_read_as_any_editor_leaves_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.env").write_bytes(text.encode())
    said = refusal("--env-file", str(tmp_path / "settings.env"), "check", DATA_DIR=str(tmp_path))
    assert said == "Cannot start: MAX_RUNNING='many': a whole number from 1 to 10000 is needed"


def test_the_environment_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "settings.env").write_text("MAX_RUNNING=many\n")
    done = run(f"--env-file={tmp_path / 'settings.env'}", "check", DATA_DIR=str(tmp_path), MAX_RUNNING="8\r")
    assert done.returncode == 0, done.stderr


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "missing.env"
    assert refusal("--env-file", str(missing)) == f"--env-file: cannot read {missing}: No such file or directory"
    assert refusal("--env-file") == "--env-file: name a file"
    for text in ("MAX_RUNNING=8\nwhat is this\n", "MAX_RUNNING=8\nDEMO\n"):
        (tmp_path / "words.env").write_text(text)
        said = refusal("--env-file", str(tmp_path / "words.env"), "check")
        assert said == f"--env-file: {tmp_path / 'words.env'}, line 2: write NAME=value"


# --------------------------------------------------------------------------------------- cannot start


@pytest.mark.parametrize("name", ["manage.py", "turnlog/__main__.py"])
def test_an_older_python_can_read_that_it_is_too_old(name: str) -> None:
    text = (ROOT / name).read_text()
    ast.parse(text, feature_version=(3, 7))
    program = (
        "import runpy, sys\n"
        "sys.version_info, sys.version = (3, 9, 2), '3.9.2 (old)'\n"
        f"runpy.run_path({name!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "Turnlog needs Python 3.11 or later: this is 3.9.2.\n")


def test_no_home_folder_is_said() -> None:
    nobody = (  # a user that the system does not know
        "import pwd, runpy\n"
        "def unknown(uid): raise KeyError(uid)\n"
        "pwd.getpwuid = unknown\n"
        "runpy.run_module('turnlog', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", nobody],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no home folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_data_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refusal("serve", DATA_DIR=str(tmp_path / "file" / "data"))
    assert said.startswith("Cannot start: DATA_DIR: cannot make the folder")
    assert "no home folder" in refusal("serve", DATA_DIR="~nobody-at-all/data")


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refusal("serve", DATA_DIR=str(tmp_path), PORT=str(port))
    assert said.startswith(f"CommandError: Cannot listen on 127.0.0.1:{port}: Address already in use")
