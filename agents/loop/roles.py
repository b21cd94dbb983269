"""What a serving process does of the work of a server: all of it, or a part where others do the rest.

Every process answers every request. A turn that comes to one that runs none is stored, and a process that runs turns
takes it at once; what was reported or uploaded is stored likewise, and worked on elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessRole:
    """``runs``: it runs turns. ``ingests``: it makes turns of reports, does imports, reads files, and what has to be
    done from time to time."""

    name: str
    runs: bool
    ingests: bool


EVERYTHING = ProcessRole("everything", runs=True, ingests=True)
ROLES: Mapping[str, ProcessRole] = {
    role.name: role
    for role in (
        ProcessRole("web", runs=False, ingests=False),
        ProcessRole("run", runs=True, ingests=False),
        ProcessRole("ingest", runs=False, ingests=True),
    )
}
"""The parts that ``serve --only`` knows."""
