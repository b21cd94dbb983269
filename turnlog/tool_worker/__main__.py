"""``python -P …/turnlog/tool_worker/__main__.py DESCRIPTOR``: see the package. Started by a server alone."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from pathlib import Path


def load_package() -> None:
    """Import the package that this file belongs to, whatever else the path may have under its name."""
    folder = Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location("turnlog", folder / "__init__.py")
    assert spec is not None  # the file's name says how to load it
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["turnlog"] = package
    spec.loader.exec_module(package)


def main() -> int:
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)  # no program that a function starts outlives the server by holding it
    load_package()
    from turnlog.tool_worker import imports

    imports.prepare()
    # these import pydantic, and are found only now
    from turnlog.tool_worker.serving import serve

    return serve(socket.socket(fileno=descriptor))


if __name__ == "__main__":
    sys.exit(main())
