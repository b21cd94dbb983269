"""What functions import: as ``python -m`` in the current folder would, and never the server's own folders.

In an installation those are not on the path. A clone of the project has them beside this package, so there they come
last and are refused by name: another distribution that is called ``agents``, too, is found instead.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
OWN = ("agents", "agentsite")


def is_clone() -> bool:
    """Whether this package lies in the project's own folder, and not in an installation."""
    return (ROOT / "manage.py").is_file() and (ROOT / OWN[1]).is_dir()


def prepare() -> None:
    """Set the path of imports. This process was started with ``-P``."""
    if is_clone():
        sys.path = [*_without_root(sys.path), str(ROOT)]
        sys.meta_path.insert(0, _RefuseOwn())
    here = Path.cwd()
    if here != ROOT or not is_clone():
        sys.path.insert(0, str(here))


def _without_root(folders: Sequence[str]) -> list[str]:
    return [folder for folder in folders if Path(folder).resolve() != ROOT]


class _RefuseOwn(MetaPathFinder):
    """Finds packages that have the names of ours anywhere but in the project's folder."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in OWN:
            return None
        spec = PathFinder.find_spec(fullname, _without_root(sys.path))
        others = (finder for finder in sys.meta_path if finder not in (self, PathFinder))
        for finder in others:  # such as those of editable installations
            spec = spec or finder.find_spec(fullname, None, target)
        if spec is None:
            message = f"No module named {fullname!r} (the server's own is not for functions: import turnlog.tools)"
            raise ModuleNotFoundError(message, name=fullname)
        return spec
