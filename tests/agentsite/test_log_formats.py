"""Lines of the log: for people, and for programs, and in neither a secret."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest

from agents.base import log_context, redaction, tracing
from agents.base.access import Actor
from agents.base.redaction import REDACTED
from agentsite.log_formats import JsonFormatter, LineFormatter

SECRET = 'pass"word\\1234'


@pytest.fixture(autouse=True)
def _secret() -> Iterator[None]:
    redaction.configure([SECRET])
    yield
    redaction.configure([])


def record(message: str, *args: Any, **more: Any) -> logging.LogRecord:
    made = logging.LogRecord("agents.x", logging.ERROR, "x.py", 1, message, args, None)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def failed() -> logging.LogRecord:
    try:
        raise ValueError(f"a {SECRET}")
    except ValueError:
        return record("no %s", SECRET, exc_info=sys.exc_info())


def as_json(made: logging.LogRecord) -> dict[str, Any]:
    line = JsonFormatter().format(made)
    assert "\n" not in line
    return dict(json.loads(line))


def test_a_line_for_people_has_no_secret_in_message_or_traceback() -> None:
    line = LineFormatter("%(message)s").format(failed())
    assert line.startswith(f"no {REDACTED}\n")
    assert line.endswith(f"ValueError: a {REDACTED}")


def test_a_line_for_programs_has_no_secret_either_however_json_writes_it() -> None:
    told = as_json(failed())
    assert told["message"] == f"no {REDACTED}"
    assert told["exception"].endswith(f"ValueError: a {REDACTED}")
    assert as_json(record("x", fields={"path": f"/{SECRET}"}))["path"] == f"/{REDACTED}"


def test_it_tells_of_request_turn_trace_and_caller() -> None:
    def write() -> dict[str, Any]:
        log_context.begin(request_id="r-1")
        log_context.add(turn_id="t-1")
        log_context.add_caller(Actor("Ada", user_id=5, key_id=7, actions=frozenset({"read"})))
        tracing.current.set(tracing.parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        return as_json(record("a\nline", fields={"status": 200}))

    told = copy_context().run(write)
    assert told.pop("time").endswith("+00:00")
    assert told == {
        "level": "ERROR",
        "logger": "agents.x",
        "message": "a\nline",
        "request_id": "r-1",
        "turn_id": "t-1",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "caller": "user 5 key 7",
        "status": 200,
    }


def test_what_is_no_text_is_written_all_the_same() -> None:
    assert as_json(record("x", fields={"odd": {1, 2}, "bytes": b"x"}))["bytes"] == "b'x'"
