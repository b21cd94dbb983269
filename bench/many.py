"""A store with millions of steps in a minute or so: made-up turns of half a year, five steps each, written
straight into the tables of an empty, migrated store. SQLite only.

    python -m bench.many FOLDER STEPS
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

EPOCH_US = 1_735_689_600_000_000
DAY_US = 86_400_000_000
DAYS = 180
START_US = 1_780_000_000_000_000
"""2026-05-28, when the first turn begins if nothing else is said."""
BATCH = 50_000
"""Turns made at a time."""
PER_SESSION = 4
AGENTS, MODELS, TOOLS, USERS = 50, 12, 40, 200
STATUSES, SHARES = (4, 5, 6, 7), (0.93, 0.045, 0.015, 0.01)
WORDS = "refund invoice delivery password order account upgrade kettle"
VOCABULARY = 3_000
"""Words of steps, ``word0`` most often; ``青 い 鳥`` in some, as the index has them."""
BIRD, BIRDS = " 青 い 鳥", 200
_MODEL, _TOOL, _ERROR, _USER, _TAG, _META = 1, 2, 3, 5, 7, 8
TIERS = 30
_TERMS = (
    *((_MODEL, f"model-{number}") for number in range(MODELS)),
    *((_TOOL, f"tool_{number}") for number in range(TOOLS)),
    *((_USER, f"user-{number}") for number in range(USERS)),
    (_ERROR, "timeout"),
    (_ERROR, "provider_error"),
    (_TAG, "vip"),
    (_TAG, "nightly"),
    *((_TAG, f"tag-{number}") for number in range(60)),
    *((_META, f"customer.tier=tier-{number}") for number in range(TIERS)),
)
_ADD_TERM = "INSERT INTO agents_term (kind, value, folded) VALUES (?, ?, ?2) RETURNING id"
INFERENCE, TOOL = 1, 2
FAILED = 5
_DETAIL = """{"tool_calls": [{"call_id": "c", "tool_name": "t", "arguments": {"path": "%s"}}],
"tool_responses": [{"call_id": "c", "tool_name": "t", "content": "%s"}]}"""

Columns = Mapping[str, Any]
"""By name, the values of rows; one value stands for all."""


def fill(folder: Path, steps: int, *, texts: bool = False, start_us: int = START_US) -> Path:
    """Make a store in the folder, whose first turn begins then; returns its file. With ``texts`` steps hold
    words too, and tools what they were called with: that takes three times as long."""
    _migrate(folder)
    [path] = folder.glob("*.sqlite3")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous=OFF")
        database.execute("PRAGMA cache_size=-200000")
        _Filling(database, steps // 5, texts=texts, start_us=start_us).all()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def _migrate(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "DATA_DIR": str(folder), "DATABASE_URL": ""}
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], check=True, env=env)


class _Filling:
    def __init__(self, database: sqlite3.Connection, turns: int, *, texts: bool, start_us: int) -> None:
        self._database = database
        self._turns = turns
        self._texts = texts
        self._start_us = start_us
        self._chance = np.random.default_rng(turns)

    def all(self) -> None:
        self._run("BEGIN")
        scope = self._one("INSERT INTO agents_scope (digest, attributes) VALUES ('made up', '{}') RETURNING id")
        terms = {term: self._one(_ADD_TERM, *term) for term in _TERMS}
        self._terms = {kind: [key for (of, _), key in terms.items() if of == kind] for kind in range(1, 9)}
        self._scope = scope
        self._agents = [_key(self._start_us) + number for number in range(AGENTS)]
        moments = {"created_at": self._start_us, "updated_at": self._start_us}
        names = [f"agent {number}" for number in range(AGENTS)]
        self._insert(
            "agents_agent", {"id": self._agents, "scope_id": scope, "name": names, "model": "model-0", **moments}
        )
        for first in range(0, self._turns, BATCH):
            self._some(first, min(BATCH, self._turns - first))
        self._run("COMMIT")
        self._run("ANALYZE")

    def _some(self, first: int, count: int) -> None:
        chance = self._chance
        places = np.arange(first, first + count)
        started = self._start_us + places * (DAYS * DAY_US // self._turns)
        keys = _keys(started) + places % 1000
        sessions = (keys // 2)[np.arange(count) // PER_SESSION * PER_SESSION]
        agents = np.array(self._agents)[_few(chance, AGENTS, count)][np.arange(count) // PER_SESSION * PER_SESSION]
        models, apis = self._of(_MODEL, count), np.where(chance.random(count) < 0.8, 1, 2)
        status = chance.choice(STATUSES, count, p=SHARES)
        amount = chance.integers(1, 10, count)
        turn = np.repeat(np.arange(count), amount)
        number = np.arange(len(turn)) - np.repeat(np.cumsum(amount) - amount, amount)
        steps = self._steps(keys, started, models, turn, number)
        sums = {name: np.bincount(turn, steps[name], count).astype(int) for name in ("input_tokens", "output_tokens")}
        tools = steps["type"] == TOOL
        errors = self._of(_ERROR, count)
        heads = np.unique(sessions, return_index=True)[1]
        self._insert(
            "agents_session",
            {
                "id": sessions[heads],
                "scope_id": self._scope,
                "agent_id": agents[heads],
                "name": [f"session {place}" for place in (first + heads).tolist()],
                "api": 1,
                "source": 1,
                "created_at": started[heads],
                "updated_at": started[heads],
                "turn_count": PER_SESSION,
                "metadata": "{}",
            },
        )
        tagged = np.flatnonzero(chance.random(len(heads)) < 0.3)
        self._insert(
            "agents_sessiontag", {"term_id": self._of(_TAG, len(tagged)), "session_id": sessions[heads][tagged]}
        )
        self._insert(
            "agents_turn",
            {
                "id": keys,
                "session_id": sessions,
                "scope_id": self._scope,
                "agent_id": agents,
                "number": np.arange(count) % PER_SESSION,
                "api": apis,
                "source": 1,
                "status": status,
                "stop_reason": "end_of_turn",
                "model_id": models,
                "end_user_id": self._of(_USER, count),
                "error_type_id": [
                    error if ended == 5 else None for error, ended in zip(errors.tolist(), status.tolist(), strict=True)
                ],
                "started_at": started,
                "completed_at": started + 1_000_000,
                "duration_us": np.bincount(turn, steps["duration_us"], count).astype(int),
                "ttft_us": chance.integers(50_000, 900_000, count),
                "cost_nano": np.bincount(turn, steps["cost_nano"], count).astype(int),
                "step_types": np.where(np.bincount(turn, tools, count) > 0, 6, 2),
                "step_count": amount,
                "tool_count": np.bincount(turn, tools, count).astype(int),
                "leg_count": 1,
                **sums,
            },
        )
        asked = [" ".join(pair) for pair in chance.choice(WORDS.split()[:-1], (count, 2)).tolist()]
        asked = [f"{words} kettle" if place % 1000 == 0 else words for place, words in enumerate(asked)]
        self._insert(
            "agents_turnbody",
            {
                "turn_id": keys,
                "input_preview": asked,
                "output_preview": "Done.",
                "input_messages": "[]",
                "metadata": "{}",
            },
        )
        said = self._said(steps, amount) if self._texts else ""
        self._insert("agents_turn_search", {"rowid": keys, "input": asked, "output": "done", "steps": said})
        for kind, share in ((_TAG, 0.3), (_META, 0.4)):
            tagged = np.flatnonzero(chance.random(count) < share)
            self._insert("agents_turntag", {"term_id": self._of(kind, len(tagged)), "turn_id": keys[tagged]})
        self._insert(
            "agents_response",
            {
                "id": keys + 1000,
                "turn_id": keys,
                "number": 0,
                "api": apis,
                "model_id": models,
                "status": status,
                "created_at": started,
                "completed_at": started + 1_000_000,
                "first_seq": 0,
            },
        )
        self._insert("agents_step", steps)
        tagged = np.flatnonzero(chance.random(len(turn)) < 0.02)
        self._insert("agents_steptag", {"term_id": self._of(_TAG, len(tagged)), "step_id": steps["id"][tagged]})

    def _said(self, steps: Columns, amount: Any) -> list[str]:
        """Give each step its words, and each tool its arguments; returns those of each turn together."""
        chance, count = self._chance, len(steps["id"])
        words = [f"word{place}" for place in range(VOCABULARY)]
        drawn = _few(chance, VOCABULARY, (count, 8))
        texts = [" ".join(words[place] for place in each) for each in drawn.tolist()]
        texts = [f"{text}{BIRD}" if place % BIRDS == 0 else text for place, text in enumerate(texts)]
        tools = (steps["type"] == TOOL).tolist()
        files = [f"/etc/{words[place]}/{number}" for number, place in enumerate(drawn[:, 0].tolist())]
        paths = [f"path etc {path.replace('/', ' ')[5:]}" for path in files]
        self._insert(
            "agents_step_search",
            {
                "rowid": steps["id"],
                "said": ["" if tool else text for tool, text in zip(tools, texts, strict=True)],
                "args": [path if tool else "" for tool, path in zip(tools, paths, strict=True)],
                "result": [text if tool else "" for tool, text in zip(tools, texts, strict=True)],
            },
        )
        called = np.flatnonzero(tools)
        bodies = [_DETAIL % (files[place], texts[place]) for place in called.tolist()]
        self._insert("agents_stepdetail", {"step_id": steps["id"][called], "body": [body.encode() for body in bodies]})
        whole = [
            f"{path} \u00b6 {text}" if tool else text for tool, path, text in zip(tools, paths, texts, strict=True)
        ]
        ends = np.cumsum(amount).tolist()
        return [" \u00b6 ".join(whole[start:end]) for start, end in zip([0, *ends], ends, strict=False)]

    def _steps(self, keys: Any, started: Any, models: Any, turn: Any, number: Any) -> dict[str, Any]:
        chance, count = self._chance, len(turn)
        tools = number % 2 == 1
        return {
            "id": keys[turn] + 2000 + number,
            "turn_id": keys[turn],
            "number": number,
            "type": np.where(tools, TOOL, INFERENCE),
            "tool_id": np.where(tools, self._of(_TOOL, count), None),
            "model_id": np.where(tools, None, models[turn]),
            "status": np.where(chance.random(count) < 0.03, 5, 4),
            "server_side": 1,
            "started_at": started[turn] + number * 100_000,
            "completed_at": started[turn] + number * 100_000 + 90_000,
            "duration_us": (chance.exponential(800_000, count)).astype(int),
            "input_tokens": np.where(tools, 0, chance.integers(100, 4000, count)),
            "output_tokens": np.where(tools, 0, chance.integers(10, 800, count)),
            "cost_nano": np.where(tools, 0, chance.integers(1000, 900_000, count)),
        }

    def _of(self, kind: int, count: int) -> Any:
        """Numbers of terms of a kind, few of them often."""
        return np.array(self._terms[kind])[_few(self._chance, len(self._terms[kind]), count)]

    # ----------------------------------------------------------------------------------------- tables

    def _columns(self, table: str) -> dict[str, Any]:
        """By column, what stands where nothing is said: nothing, 0, or an empty text."""
        rows = self._database.execute(f"PRAGMA table_info({table})").fetchall()
        empty = {"text": "", "varchar": "", "blob": b""}
        return {
            name: None if not needed else empty.get(type_.lower().partition("(")[0], 0)
            for _, name, type_, needed, *_ in rows
        } | ({"rowid": None, **{name: "" for _, name, *_ in rows}} if table.endswith("_search") else {})

    def _insert(self, table: str, columns: Columns) -> None:
        whole = {**self._columns(table), **columns}
        marks = ", ".join("?" * len(whole))
        sql = f"INSERT INTO {table} ({', '.join(whole)}) VALUES ({marks})"
        self._database.executemany(sql, _rows(list(whole.values())))

    def _run(self, sql: str) -> None:
        self._database.execute(sql)

    def _one(self, sql: str, *values: Any) -> int:
        return int(self._database.execute(sql, values).fetchone()[0])


def _few(chance: Any, count: int, size: int | tuple[int, int]) -> Any:
    """Places below ``count``, the first ones most often."""
    shares = 1 / np.arange(1, count + 1)
    return chance.choice(count, size, p=shares / shares.sum())


def _key(at_us: int) -> int:
    return (at_us - EPOCH_US) // 1000 << 20


def _keys(at_us: Any) -> Any:
    return (at_us - EPOCH_US) // 1000 << 20


def _rows(columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    lists = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
    count = max(len(column) for column in lists if isinstance(column, list))
    whole: list[Iterable[Any]] = [column if isinstance(column, list) else [column] * count for column in lists]
    return zip(*whole, strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.many", description="Make a store of made-up turns.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("steps", type=int)
    given = parser.parse_args()
    print(fill(given.folder, given.steps))


if __name__ == "__main__":
    main()
