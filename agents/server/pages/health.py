"""The page of the server's health: what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.server import health
from agents.server.health import Fact, HealthCheck
from agents.uikit import format
from agents.uikit.access import PageRequest, page
from agents.uikit.links import at

_TITLES = {
    "database": gettext_noop("Database"),
    "migrations": gettext_noop("Migrations"),
    "writer": gettext_noop("Writer"),
    "queue": gettext_noop("Queue of turns"),
    "turns": gettext_noop("Turns without a process"),
    "messages": gettext_noop("Messages between processes"),
    "ingest": gettext_noop("Reports of other agents"),
    "disk": gettext_noop("Disk"),
    "store": gettext_noop("Failures of the database"),
    "rounds": gettext_noop("Periodic work"),
}
_UNKNOWN = gettext_noop("The database does not answer, so this is not known. Fix the database first.")
_ADVICE = {
    ("database", "unwritable"): gettext_noop(
        "The database cannot be written. Check that it runs, has space and accepts connections (DATABASE_URL); "
        "running turns are stored once it is back."
    ),
    ("migrations", "missing"): gettext_noop(
        "The tables are older than the program. Run turnlog migrate, or start the server anew: it migrates "
        "at its start."
    ),
    ("writer", "behind"): gettext_noop(
        "More is written than the disk takes. Look for a slow disk or a large import; PostgreSQL takes more "
        "than SQLite."
    ),
    ("writer", "slow"): gettext_noop(
        "The last commit took more than a second. Look for a slow disk, or for another program that holds the database."
    ),
    ("queue", "long"): gettext_noop(
        "Turns wait for more than a minute. Raise MAX_RUNNING, start another process, or see whether a "
        "model's endpoint hangs."
    ),
    ("turns", "abandoned"): gettext_noop(
        "The process of some turns is gone, and no other goes on with them. That happens within seconds where "
        "MAX_RUNNING leaves room; if it does not, the periodic work below says why."
    ),
    ("turns", "in_doubt"): gettext_noop(
        "Turns wait for somebody to decide what became of a call: its process was lost before the result was stored, "
        "and the call may not be made twice. Their pages ask for it."
    ),
    ("messages", "lost"): gettext_noop(
        "PostgreSQL takes messages and delivers none, as behind a pooler in transaction mode, or cannot be reached. "
        "Processes look into the database instead: what runs on another one is seen a little later. The log says why."
    ),
    ("ingest", "behind"): gettext_noop(
        "What other agents report is made into turns more slowly than it comes. It is kept; it will be done "
        "once less comes."
    ),
    ("disk", "low"): gettext_noop(
        "Little space is left. Delete old turns (turnlog logs delete), or give the disk more: without space "
        "nothing is stored."
    ),
    ("disk", "large_log"): gettext_noop(
        "SQLite's log has grown, as some program reads without a pause. It shrinks when that ends; look for "
        "long exports."
    ),
    ("store", "failed"): gettext_noop(
        "The database failed within the last ten minutes; the server's log says where. Callers were told to try again."
    ),
    ("rounds", "failed"): gettext_noop(
        "Periodic work failed within the last ten minutes. It is tried again; the server's log has the traceback."
    ),
}
"""What to do, by check and problem."""


_UNITS = ("B", "KB", "MB", "GB", "TB")


def _size(value: Fact) -> str:
    """A number of bytes, for people."""
    number, unit = float(value or 0), 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{format.decimal(number, 1 if unit else 0)} {_UNITS[unit]}"


def _seconds(value: Fact) -> str:
    return format.duration(float(value or 0) * 1000)


def _number(value: Fact) -> str:
    return "–" if value is None else format.integer(int(value))


def _text(value: Fact) -> str:
    return "–" if value is None else str(value)


_FACTS: dict[str, tuple[str, Callable[[Fact], str]]] = {
    "engine": (gettext_noop("engine"), _text),
    "bytes": (gettext_noop("size"), _size),
    "reason": (gettext_noop("reason"), _text),
    "missing": (gettext_noop("missing"), _number),
    "last": (gettext_noop("last"), _text),
    "waiting": (gettext_noop("waiting"), _number),
    "last_commit_s": (gettext_noop("last commit"), _seconds),
    "commits": (gettext_noop("commits"), _number),
    "running": (gettext_noop("running"), _number),
    "oldest_s": (gettext_noop("waiting for"), _seconds),
    "without_process": (gettext_noop("turns"), _number),
    "in_doubt": (gettext_noop("turns in doubt"), _number),
    "processes": (gettext_noop("processes"), _number),
    "spans_waiting": (gettext_noop("spans that wait"), _number),
    "lag_s": (gettext_noop("behind by"), _seconds),
    "free_bytes": (gettext_noop("free"), _size),
    "wal_bytes": (gettext_noop("SQLite's log"), _size),
    "ago_s": (gettext_noop("before"), _seconds),
}
"""The title of each figure, and how it is written."""
_QUERIES = {"in_doubt": "is:undecided"}
"""The query of the turns that a figure counts."""
_STATUSES = {"ok": "completed", "warn": "incomplete", "bad": "failed"}
"""The status of a step whose colour and icon each state has."""


@dataclass(frozen=True, slots=True)
class CheckView:
    """A check in the words of its reader; ``facts`` are titles, values, and where to look, if anywhere."""

    name: str
    title: str
    status: str
    state: str
    advice: str
    facts: list[tuple[str, str, str]]


@page("read", admins_only=True)
def health_page(request: PageRequest) -> HttpResponse:
    found = health.read()
    states = {"ok": _("healthy"), "warn": _("needs attention"), "bad": _("broken")}
    context = {
        "checks": [_view(check, states) for check in sorted(found.checks, key=lambda one: one.state == "ok")],
        "is_well": found.state == "ok",
        "problems": sum(check.state != "ok" for check in found.checks),
        "versions": found.versions,
        "rounds": found.rounds,
    }
    return render(request, "server/health.html", context)


def _list(query: str) -> str:
    """Return the link to the turns of a query."""
    return f"{at('/logs/')}?{urlencode({'q': query})}"


def _view(check: HealthCheck, states: dict[str, str]) -> CheckView:
    advice = _UNKNOWN if check.problem == "unknown" else _ADVICE.get((check.name, check.problem), "")
    facts = [
        (_(_FACTS[name][0]), _FACTS[name][1](value), _list(_QUERIES[name]) if value and name in _QUERIES else "")
        for name, value in check.facts.items()
        if value is not None
    ]
    title = _(_TITLES[check.name])
    return CheckView(check.name, title, _STATUSES[check.state], states[check.state], _(advice) if advice else "", facts)
