"""A copy of the project to which something is added, as CONTRIBUTING says, and which its own tests then check."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests import ROOT

_PARTS = (
    "agents",
    "agentsite",
    "turnlog",
    "templates",
    "static",
    "tests",
    "docs",
    "manage.py",
    "pyproject.toml",
    "README.md",
)
_BESIDE = ("agents/migrations/", "tests/")
"""What comes on top of each addition, as CONTRIBUTING says."""


class Scratch:
    """The copy in a folder. ``touched`` are the files that were changed or added, without migrations and tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.touched: set[str] = set()
        for part in _PARTS:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copyfile(ROOT / part, folder / part)

    def replace(self, name: str, *changes: tuple[str, str]) -> None:
        """Replace texts of a file, each of which is there once."""
        path = self._folder / name
        text = path.read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{name} has {text.count(old)} times: {old}"
            text = text.replace(old, new)
        path.write_text(text)
        self._touch(name)

    def add(self, name: str, text: str) -> None:
        """Add a file."""
        path = self._folder / name
        assert not path.exists(), name
        path.write_text(text)
        self._touch(name)

    def migrate(self) -> None:
        """Write the migration of what was changed in the models."""
        self._run("manage.py", "makemigrations", "agents", "--name", "addition")

    def check(self, name: str) -> None:
        """Run a file of tests in the copy."""
        self._run("-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/additions/{name}")

    def _touch(self, name: str) -> None:
        if not name.startswith(_BESIDE):
            self.touched.add(name)

    def _run(self, *command: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TEST"))}
        environment.pop("DJANGO_SETTINGS_MODULE", None)
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self._folder,
            env={**environment, "DATA_DIR": str(self._folder / "data")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
