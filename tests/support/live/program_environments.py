"""Environments of programs that need packages of their own, as clients and SDKs do: made when first asked for and
when what they are made of changes, in ``.venvs`` of the project's root, and kept there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT
from tests.support.live.process import KEPT

INSTALL_S = 600
REGISTRIES = re.compile(r"(?i)^(pip_|npm_config_|https?_proxy$|no_proxy$|ssl_cert|requests_ca|node_extra_ca)")
"""Variables that say how a registry is reached."""


class CannotInstall(Exception):
    """An environment could not be made; the text says why."""


@dataclass(frozen=True)
class Program:
    """A folder with a ``program.py`` and what it needs, pinned, in ``requirements.txt``, or with a ``program.mjs``
    and a ``package.json``. Its environment is called ``<kind>-<name>``."""

    folder: Path
    kind: str

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def version(self) -> str:
        """What is tried, as ``package version``: the first that is asked for."""
        if self._is_node:
            packages: dict[str, str] = json.loads(self._needed.read_text())["dependencies"]
            return " ".join(next(iter(packages.items())))
        return self._needed.read_text().splitlines()[0].replace("==", " ")

    def command(self) -> list[str]:
        """Return the command line of the program, its environment made. Raises CannotInstall."""
        environment = ROOT / ".venvs" / f"{self.kind}-{self.name}"
        wanted, done = self._needed.read_text(), environment / "installed.txt"
        if not done.exists() or done.read_text() != wanted:
            shutil.rmtree(environment, ignore_errors=True)
            (self._make_node if self._is_node else self._make_python)(environment)
            done.write_text(wanted)
        if not self._is_node:
            return [str(environment / "bin" / "python"), str(self.folder / "program.py")]
        # Node looks for packages beside the program
        return ["node", str(shutil.copy(self.folder / "program.mjs", environment / "program.mjs"))]

    @property
    def _is_node(self) -> bool:
        return (self.folder / "package.json").exists()

    @property
    def _needed(self) -> Path:
        return self.folder / ("package.json" if self._is_node else "requirements.txt")

    def _make_python(self, environment: Path) -> None:
        venv.create(environment, with_pip=True)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _install([*pip, "--requirement", str(self._needed)], environment)

    def _make_node(self, environment: Path) -> None:
        if not shutil.which("npm"):
            raise CannotInstall("there is no npm here: install Node 20 or later")
        environment.mkdir(parents=True)
        shutil.copy(self._needed, environment)
        _install(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"], environment)


def programs(folder: Path, kind: str) -> dict[str, Program]:
    """Return the programs whose folders lie in ``folder``, by their names, in the order of these."""
    found = sorted(path.parent for path in folder.glob("*/program.*"))
    return {one.name: Program(one, kind) for one in found}


def _install(line: list[str], folder: Path) -> None:
    passed = {name: value for name, value in os.environ.items() if name in KEPT or REGISTRIES.match(name)}
    made = subprocess.run(line, cwd=folder, env=passed, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if made.returncode:
        raise CannotInstall(made.stderr.strip()[-2000:])
