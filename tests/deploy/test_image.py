"""The image: its health check against servers, and the rules of its Dockerfile."""

from __future__ import annotations

import fnmatch
import json
import re
import socket
import subprocess
import sys
import tomllib

import pytest

from tests import ROOT
from tests.deploy import reading
from tests.support.live.process import ServerProcess


def health(port: int) -> int:
    """The exit status of the health check's very command, with this Python for the image's."""
    program, *arguments = reading.healthcheck()
    assert program == "python"
    done = subprocess.run([sys.executable, *arguments], env={"PORT": str(port)}, check=False, capture_output=True)
    return done.returncode


@pytest.mark.server
def test_a_live_server_is_healthy(server: ServerProcess) -> None:
    assert health(server.port) == 0


def test_a_port_that_nobody_answers_is_not_healthy() -> None:
    with socket.socket() as taken:  # bound, but not listening: nobody else gets it meanwhile
        taken.bind(("127.0.0.1", 0))
        assert health(taken.getsockname()[1]) == 1


def test_compose_asks_the_same() -> None:
    service = reading.compose("compose.yaml")["services"]["turnlog"]
    assert service["healthcheck"]["test"] == ["CMD", *reading.healthcheck()]


def test_bases_are_named_once_and_with_a_version() -> None:
    instructions = reading.dockerfile()
    base = next(each.text for each in instructions if each.name == "ARG").removeprefix("BASE=")
    assert re.fullmatch(r"python:3\.\d+-slim", base)
    assert {each.text.split()[0] for each in instructions if each.name == "FROM"} == {"${BASE}"}
    minor = base.removeprefix("python:").removesuffix("-slim")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={minor}"  # the one that the tests run on


def test_it_ends_as_nobody_special_on_one_volume() -> None:
    user, group = reading.last("USER").split(":")
    assert int(user) >= 10_000
    assert int(group) >= 10_000
    folder = reading.last("VOLUME")
    assert reading.image_environment()["DATA_DIR"] == folder
    made = next(each.text for each in reading.dockerfile() if "useradd" in each.text)
    assert f"groupadd --gid {group} " in made
    assert f"useradd --uid {user} --gid {group} " in made
    assert f"install -d -m 0700 -o {user} -g {group} {folder}" in made
    last_of_all = [each.name for each in reading.dockerfile()]
    assert last_of_all.index("USER") < last_of_all.index("VOLUME")
    assert "RUN" not in last_of_all[last_of_all.index("USER") :]


def test_dependencies_are_those_that_are_locked() -> None:
    installs = [line for each in reading.dockerfile() for line in each.text.split("&&") if "pip install" in line]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "-r requirements.txt" in installs[0]
    assert "--no-index --no-deps" in installs[1]


def test_rules_of_good_dockerfiles() -> None:
    for each in reading.dockerfile():
        assert each.name not in {"ADD", "MAINTAINER"}
        assert "sudo " not in each.text
        assert "apt-get install" not in each.text or "rm -rf /var/lib/apt/lists/*" in each.text
        assert "pip install" not in each.text or "--no-cache-dir" in each.text
    assert json.loads(reading.last("ENTRYPOINT")) == ["turnlog"]
    assert reading.last("STOPSIGNAL") == "SIGTERM"


def test_the_build_sees_what_the_wheel_is_made_of_and_nothing_else() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert lines[0] == "*"
    assert all((ROOT / name).exists() for name in let_in)
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {"pyproject.toml", "requirements.txt", content["project"]["readme"], *content["project"]["license-files"]}
    build = content["tool"]["hatch"]["build"]
    included = [*build["targets"]["wheel"]["include"], *build["targets"]["sdist"]["include"]]
    needed |= {path.strip("/") for path in included} | {build["hooks"]["custom"]["path"]}
    assert needed <= let_in
    ignored = (ROOT / ".gitignore").read_text().split()
    assert {"/secrets/", "/turnlog.env"} <= set(ignored)
    assert not any(fnmatch.fnmatch(name, pattern) for name in ("secrets", "turnlog.env", "var") for pattern in let_in)
