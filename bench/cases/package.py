"""The wheel: its size, from installing it to the first page, and a start on its data. Packages come from the cache of
pip, or of uv where there is one; the first round fills it. Each round has an environment and data of its own."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import AsyncIterator
from pathlib import Path

from bench.faults import Broken
from bench.figures import Row, Target
from bench.stage import Stage

ROOT = Path(__file__).resolve().parents[2]
LOCKED = ["--require-hashes", "-r", str(ROOT / "requirements.txt")]
PATIENCE_S = 60.0


async def rows(stage: Stage) -> AsyncIterator[Row]:
    with tempfile.TemporaryDirectory(prefix="package-") as folder:
        wheel = await asyncio.to_thread(_wheel, Path(folder))
        yield Row("the wheel", "size", wheel.stat().st_size / 1e6, "MB", Target(3))
        uv = shutil.which("uv")
        for installer in ("pip", uv) if uv else ("pip",):
            row = await asyncio.to_thread(_from_nothing, Path(folder), wheel, installer, stage.size(2, 1))
            yield row
        yield await asyncio.to_thread(_second_start, Path(folder), stage.size(5, 2))


def _wheel(folder: Path) -> Path:
    line = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*line, str(ROOT)], check=True)
    return next(folder.glob("*.whl"))


def _from_nothing(folder: Path, wheel: Path, installer: str, rounds: int) -> Row:
    """An environment, what the wheel needs, the wheel, a start, the list of turns with the demo in it."""
    name, parts = Path(installer).name, []
    for _ in range(rounds + 1):
        home = folder / f"home-{name}"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        began = time.perf_counter()
        _install(home / "env", wheel, installer)
        installed = time.perf_counter()
        with _Started(home) as server:
            server.wait_for("/logs/", b"refund")
        parts.append((time.perf_counter() - began, installed - began))
    total_s, install_s = min(parts[1:])
    note = f"of which installing {install_s:.1f} s; best of {rounds} with a warm cache"
    return Row(f"installed by {name}", "first page with turns", total_s, "s", Target(10), note=note)


def _install(environment: Path, wheel: Path, installer: str) -> None:
    if installer == "pip":
        venv.create(environment, with_pip=True)
        line = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    else:
        subprocess.run([installer, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True)
        line = [installer, "pip", "install", "--quiet", "--python", str(environment / "bin" / "python")]
    subprocess.run([*line, *LOCKED], check=True)
    subprocess.run([*line, "--no-deps", str(wheel)], check=True)


def _second_start(folder: Path, rounds: int) -> Row:
    home, seconds = folder / "home-pip", []
    for _ in range(rounds):
        began = time.perf_counter()
        with _Started(home) as server:
            server.wait_for("/healthz", b"ok")
            seconds.append(time.perf_counter() - began)
    note = f"median of {rounds}"
    return Row("turnlog, on its data", "first healthy reply", sorted(seconds)[rounds // 2], "s", Target(3), note=note)


class _Started:
    """The installed command, for as long as the block lasts."""

    def __init__(self, home: Path) -> None:
        self._output = home / "output.txt"
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PORT": "0"}
        with self._output.open("w") as file:
            self._process = subprocess.Popen(
                [home / "env" / "bin" / "turnlog"], cwd=home, env=environment, stdout=file, stderr=file
            )

    def __enter__(self) -> _Started:
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.terminate()
        self._process.wait()

    def wait_for(self, path: str, part: bytes) -> None:
        """Wait for an answer with this in it. Raises Broken."""
        until = time.perf_counter() + PATIENCE_S
        while time.perf_counter() < until and self._process.poll() is None:
            address = re.search(r"^Logs +(http://\S+)/logs/$", self._output.read_text(), re.MULTILINE)
            if address and part in urllib.request.urlopen(f"{address.group(1)}{path}").read():
                return
            time.sleep(0.01)  # nothing else tells when a command writes to its file
        raise Broken(f"{path} did not show {part!r}: {self._output.read_text()}")
