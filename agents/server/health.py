"""What an administrator looks at when something is wrong: one check for each part of the server.

A check has a state, the name of a problem where there is one, and its figures. Words for people are on the page; here
and in JSON they are names, so that programs can compare them.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import django
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from agents.base import ids, rounds
from agents.base.errors import Unavailable
from agents.base.store import failures, processes, readiness, vitals
from agents.base.store.writer import writer
from agents.base.subjects import is_installed
from agents.llama_stack.schemas import VERSION
from agents.loop.current_service import service
from agents.record.mirrors import mirrors
from agents.record.store import takeover, turns
from turnlog import __version__

State = Literal["ok", "warn", "bad"]
Fact = str | int | float | None
"""Sizes are bytes, times seconds."""

LONG_QUEUE_S, LONG_LAG_S, SLOW_COMMIT_S = 60.0, 60.0, 1.0
MAX_WRITER_QUEUE = 256
"""Jobs that one commit takes: more wait for a second one."""
LOW_SPACE = 2**30
LARGE_WAL = 512 * 2**20
ABANDONED_S = 60.0
"""For how long the process of a turn may be gone: others look every half second whether they can take it over."""
RECENT_S = 600.0
"""How long a failure counts."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The state of a part of the server; ``problem`` is empty where it is well."""

    name: str
    state: State = "ok"
    problem: str = ""
    facts: dict[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """All checks, the versions of what runs, and the last failures of periodic work. ``state`` is the worst."""

    checks: list[HealthCheck]
    versions: dict[str, str]
    rounds: list[rounds.RoundFailure]

    @property
    def state(self) -> State:
        return max((check.state for check in self.checks), key=("ok", "warn", "bad").index)


def read() -> HealthReport:
    """Run all checks. One that cannot be made for want of the database says so, and the others are made."""
    return HealthReport(
        [_checked(name, check) for name, check in _checks().items()], _versions(), rounds.last_failures()
    )


def _checks() -> dict[str, Callable[[], HealthCheck]]:
    checks = {
        "database": _database,
        "migrations": _migrations,
        "writer": _writer,
        "queue": _queue,
        "turns": _turns,
        "messages": _messages,
        "ingest": _ingest,
        "disk": _disk,
        "store": _store,
        "rounds": _rounds,
    }
    missing = set() if is_installed("telemetry") else {"ingest"}
    missing |= {"messages"} if connection.vendor == "sqlite" else set()  # its process is alone
    return {name: made for name, made in checks.items() if name not in missing}


def _checked(name: str, check: Callable[[], HealthCheck]) -> HealthCheck:
    try:
        return check()
    except Exception as error:  # raised again, whatever it is, unless the store is only unavailable
        if failures.unavailable(error, f"health of {name}") is None:
            raise
        return HealthCheck(name, "bad", "unknown")


def _check(name: str, state: State, problem: str, facts: dict[str, Fact]) -> HealthCheck:
    """Return a check that has a problem, unless the problem is none (``ok``)."""
    return HealthCheck(name, state, problem if state != "ok" else "", facts)


def _database() -> HealthCheck:
    problem = readiness.problem()
    facts: dict[str, Fact] = {"engine": connection.vendor, "bytes": vitals.database_bytes()}
    return _check("database", "bad" if problem else "ok", "unwritable", {**facts, "reason": problem or None})


def _migrations() -> HealthCheck:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    last = max((name for app, name in executor.loader.applied_migrations if app == "agents"), default=None)
    return _check("migrations", "bad" if missing else "ok", "missing", {"missing": len(missing), "last": last})


def _writer() -> HealthCheck:
    waiting, commit_s = writer.waiting, writer.last_commit_s
    is_behind, is_slow = waiting > MAX_WRITER_QUEUE, commit_s > SLOW_COMMIT_S
    problem = "behind" if is_behind else "slow"
    facts: dict[str, Fact] = {"waiting": waiting, "last_commit_s": round(commit_s, 4), "commits": writer.commits}
    return _check("writer", "warn" if is_behind or is_slow else "ok", problem, facts)


def _queue() -> HealthCheck:
    waiting, first_us = turns.queue()
    oldest_s = 0.0 if first_us is None else max(ids.now_us() - first_us, 0) / 1e6
    try:
        running: int | None = len(service().runner.running)
    except Unavailable:
        running = None
    facts: dict[str, Fact] = {"running": running, "waiting": waiting, "oldest_s": round(oldest_s, 1)}
    return _check("queue", "warn" if oldest_s > LONG_QUEUE_S else "ok", "long", facts)


def _turns() -> HealthCheck:
    abandoned = takeover.without_process(ids.now_us() - round(ABANDONED_S * 1e6))
    in_doubt = takeover.in_doubt()
    facts: dict[str, Fact] = {"without_process": abandoned, "in_doubt": in_doubt}
    problem = "abandoned" if abandoned else "in_doubt"
    return _check("turns", "warn" if abandoned or in_doubt else "ok", problem, facts)


def _messages() -> HealthCheck:
    """A process that is alone needs none, but is told before another comes."""
    facts: dict[str, Fact] = {"processes": processes.count_living()}
    return _check("messages", "warn" if mirrors.channel.has_failed else "ok", "lost", facts)


def _ingest() -> HealthCheck:
    from agents.telemetry.store.external import backlog

    lag_s = backlog.lag_seconds()
    facts: dict[str, Fact] = {"spans_waiting": backlog.backlog.waiting, "lag_s": round(lag_s, 1)}
    return _check("ingest", "warn" if lag_s > LONG_LAG_S else "ok", "behind", facts)


def _disk() -> HealthCheck:
    free, wal = vitals.free_bytes(), vitals.wal_bytes()
    facts: dict[str, Fact] = {"free_bytes": free, "wal_bytes": wal}
    if free < LOW_SPACE:
        return _check("disk", "bad" if free < readiness.MIN_FREE_BYTES else "warn", "low", facts)
    return _check("disk", "warn" if wal > LARGE_WAL else "ok", "large_log", facts)


def _store() -> HealthCheck:
    last = failures.failure_log.last
    if last is None:
        return HealthCheck("store")
    failure, ago_s = last
    facts: dict[str, Fact] = {"last": failure.name, "ago_s": round(ago_s, 1)}
    return _check("store", "warn" if ago_s < RECENT_S else "ok", "failed", facts)


def _rounds() -> HealthCheck:
    last = rounds.last_failures()[:1]
    if not last:
        return HealthCheck("rounds")
    ago_s = max(ids.now_us() - last[0].at_us, 0) / 1e6
    facts: dict[str, Fact] = {"last": last[0].name, "ago_s": round(ago_s, 1)}
    return _check("rounds", "warn" if ago_s < RECENT_S else "ok", "failed", facts)


def _versions() -> dict[str, str]:
    found = {
        "turnlog": __version__,
        "agents_api": VERSION,
        "python": platform.python_version(),
        "django": django.get_version(),
    }
    try:
        found[connection.vendor] = _database_version()
    except Exception as error:  # raised again, whatever it is, unless the store is only unavailable
        if failures.classify(error) is None:
            raise
    return found


def _database_version() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()" if connection.vendor == "sqlite" else "SHOW server_version")
        return str(cursor.fetchone()[0]).split()[0]  # without the name of the package
