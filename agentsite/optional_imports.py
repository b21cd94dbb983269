"""Prevents imports of libraries that others import only because they are installed.

A name that is None in `sys.modules` cannot be imported, and each of these importers works without it.
"""

from __future__ import annotations

import os
import sys

from agentsite import environment

UNUSED = {
    "OpenSSL": "Twisted's TLS: a proxy in front of this server ends it",
    "service_identity": "the same",
}
"""Library names, and what they would be imported for."""
POSTGRESQL = "psycopg"
"""REST framework imports it for fields of PostgreSQL."""


def keep_out() -> None:
    """Block these imports; called by ``serve`` before Django is set up. Saves 25 MB of some
    150, and a tenth of the start."""
    unused = set(UNUSED)
    if not environment.secret("DATABASE_URL").startswith("postgres"):
        unused.add(POSTGRESQL)
    for name in unused - set(sys.modules):
        sys.modules[name] = None  # type: ignore[assignment]  # that is how an import is refused
    # a compiler of C declarations comes with Autobahn's own check of UTF-8; the one in Python is there anyway
    os.environ.setdefault("AUTOBAHN_USE_NVX", "0")
