"""Why a case has no figures. Knows nothing else of the package."""

from __future__ import annotations


class Broken(Exception):
    """What came back is not what it must be: the case failed."""


class Missing(Broken):
    """The server says that it has no such route. Another server's case is skipped then; our own
    server's has failed."""


class Skipped(Exception):
    """The case cannot be measured here, for a reason that is nobody's fault."""
