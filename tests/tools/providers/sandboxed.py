"""The sandbox of this machine, for tests that run programs in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

from agents.loop.protocols.tools import ToolContext, ToolResult

CONTEXT = ToolContext("session", "turn", "actor")
Run = Callable[[str], ToolResult]


def installed() -> bool:
    """Whether there is a bubblewrap, or one could be installed."""
    if not shutil.which("bwrap") and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "bubblewrap"], check=False, capture_output=True)
    return shutil.which("bwrap") is not None
