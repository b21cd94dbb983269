"""Prevents imports of libraries that others import only because they are installed.

A name that is None in `sys.modules` cannot be imported, and each of these importers works without it.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from agentsite import environment

UNUSED = {
    "OpenSSL": "Twisted's TLS: a proxy in front of this server ends it",
    "service_identity": "the same",
    "markdown": "REST framework's pages, which this server has none of",
    "requests": "REST framework's client for tests",
    "yaml": "REST framework's descriptions of an API, of which this server has its own",
}
"""Library names, and what they would be imported for."""
NEVER_CALLED = {
    "autobahn.twisted.wamp": "ApplicationSession",  # of another protocol than WebSocket, with all of `cryptography`
    "rest_framework.test": "APIRequestFactory",  # drf-spectacular's own requests, with Django's tools for tests
}
"""Modules that libraries cannot do without but for the name of a class, which nothing here calls."""
POSTGRESQL = "psycopg"
"""REST framework imports it for fields of PostgreSQL."""


def keep_out() -> None:
    """Block these imports; called by ``serve`` before Django is set up. Saves 40 MB of some
    160, and a fifth of the start."""
    unused = set(UNUSED)
    if not environment.secret("DATABASE_URL").startswith("postgres"):
        unused.add(POSTGRESQL)
    for name in unused - set(sys.modules):
        sys.modules[name] = None  # type: ignore[assignment]  # that is how an import is refused
    for name in NEVER_CALLED.keys() - set(sys.modules):
        sys.modules[name] = stand_in = ModuleType(name, "Stands in for a module that this server does not need.")
        setattr(stand_in, NEVER_CALLED[name], object)
    # a compiler of C declarations comes with Autobahn's own check of UTF-8; the one in Python is there anyway
    os.environ.setdefault("AUTOBAHN_USE_NVX", "0")
