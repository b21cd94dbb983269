"""Environments of SDKs: made when first asked for and when what they are made of changes, in ``.venvs`` of the
project's root, and kept there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

from tests.support.live.process import KEPT

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INSTALL_S = 600
REGISTRIES = re.compile(r"(?i)^(pip_|npm_config_|https?_proxy$|no_proxy$|ssl_cert|requests_ca|node_extra_ca)")
"""Variables that say how a registry is reached."""


class CannotInstall(Exception):
    """An environment could not be made; the text says why."""


def names() -> list[str]:
    """The SDKs there are."""
    return sorted(folder.parent.name for folder in HERE.glob("*/expected.toml"))


def version(name: str) -> str:
    """What is tried, as ``package version``: the first that is asked for."""
    if _is_node(name):
        return " ".join(next(iter(_packages(name).items())))
    return (HERE / name / "requirements.txt").read_text().splitlines()[0].replace("==", " ")


def command(name: str) -> list[str]:
    """The command line of an SDK's program, its environment made. Raises CannotInstall."""
    folder = ROOT / ".venvs" / f"sdk-{name}"
    wanted = (HERE / name / ("package.json" if _is_node(name) else "requirements.txt")).read_text()
    done = folder / "installed.txt"
    if not done.exists() or done.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        (_node if _is_node(name) else _python)(name, folder)
        done.write_text(wanted)
    if not _is_node(name):
        return [str(folder / "bin" / "python"), str(HERE / name / "program.py")]
    # Node looks for packages beside the program
    return ["node", str(shutil.copy(HERE / name / "program.mjs", folder / "program.mjs"))]


def _is_node(name: str) -> bool:
    return (HERE / name / "package.json").exists()


def _packages(name: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((HERE / name / "package.json").read_text())["dependencies"]
    return found


def _python(name: str, folder: Path) -> None:
    venv.create(folder, with_pip=True)
    needed = HERE / name / "requirements.txt"
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _install([*pip, "--requirement", str(needed)], folder)


def _node(name: str, folder: Path) -> None:
    if not shutil.which("npm"):
        raise CannotInstall("there is no npm here: install Node 20 or later")
    folder.mkdir(parents=True)
    shutil.copy(HERE / name / "package.json", folder)
    _install(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"], folder)


def _install(line: list[str], folder: Path) -> None:
    passed = {name: value for name, value in os.environ.items() if name in KEPT or REGISTRIES.match(name)}
    made = subprocess.run(line, cwd=folder, env=passed, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if made.returncode:
        raise CannotInstall(made.stderr.strip()[-2000:])
