"""The command ``turnlog``: puts the folders of the server on the path of this process alone, and runs one of its
commands. Written so that a Python that is too old can read it, and say so."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "_app"


def main() -> None:
    """Run a command of the server: ``serve`` where none is named. Its data is in the platform's folder for data, if
    DATA_DIR names no other."""
    if sys.version_info < (3, 11):
        sys.exit(f"Turnlog needs Python 3.11 or later: this is {sys.version.split()[0]}.")
    folder = INSTALLED if INSTALLED.is_dir() else PACKAGE.parent
    if not (folder / "agentsite" / "command_line.py").is_file():
        sys.exit(f"Turnlog is not installed completely: {folder} lacks the server. Install it again.")
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))
    # another project's settings, which whoever works on it may have in the environment, are none of this server
    os.environ["DJANGO_SETTINGS_MODULE"] = "agentsite.settings"

    from agentsite.command_line import run

    run(sys.argv, data_folder=_data_folder)


def _data_folder() -> str:
    from platformdirs import user_data_dir

    try:
        return user_data_dir("turnlog", appauthor=False)
    except RuntimeError:  # a user without an entry among those of the system, and without HOME
        sys.exit("Cannot start: this user has no home folder to keep the data in. Name a folder by DATA_DIR.")


if __name__ == "__main__":
    main()
