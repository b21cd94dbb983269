"""All that is known of the turns of a user, to compare them with those of another: the records of whole exports and the
stored columns."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from typing import Any

from django.test import Client

from agents.base import ids
from agents.base.models.people import User
from agents.base.store import keys
from agents.record.models.turns import Step, Turn, TurnBody
from tests.support.inprocess import body_of

Record = dict[str, Any]
KEYS = {"id", "turn_id", "parent_id", "session_id", "agent_id", "revision_id", "owner_id", "foreign_id"}


def client_of(name: str) -> Client:
    user = User.objects.create_user(name, password="correct horse battery")
    _, key = keys.create(keys.of_user(user), name="k", actions=["ingest", "read"])
    return Client(headers={"Authorization": f"Bearer {key}"})


def exported(client: Client, form: str) -> bytes:
    return body_of(client.get(f"/v1/logs/turns/export?{form}"))


def records(client: Client) -> list[Record]:
    """The records of all turns that this client's user owns, by the time they began, ids as positions."""
    owned = [json.loads(line)["record"] for line in exported(client, "whole=true").splitlines()]
    owned.sort(key=lambda record: (record["started_at"], record.get("model", ""), json.dumps(record.get("input"))))
    sessions: dict[str, int] = {}
    return [comparable(record, sessions) | {"stored": stored(record)} for record in owned]


def comparable(record: Record, sessions: dict[str, int]) -> Record:
    session, steps = record["session"], record.get("steps", [])
    numbers = {step["id"]: step["number"] for step in steps}
    feedback = [{**entry, "id": "", "step": numbers.get(entry.get("step"))} for entry in record.get("feedback", [])]
    return {
        **record,
        "id": "",
        "session": {**session, "id": sessions.setdefault(session["id"], len(sessions))},
        "steps": [{**step, "id": "", "parent": numbers.get(step.get("parent", ""))} for step in steps],
        "feedback": sorted(feedback, key=json.dumps),
    }


def stored(record: Record) -> Record:
    """The columns of a turn and of its steps; terms are the same rows for all users."""
    turn = ids.parse(ids.Kind.TURN, record["id"])
    steps = Step.objects.unscoped("test").filter(turn_id=turn).order_by("number")
    return {
        "turn": columns(Turn.objects.unscoped("test").filter(pk=turn).values().get()),
        "body": columns(TurnBody.objects.unscoped("test").filter(pk=turn).values().get()),
        "steps": list(map(columns, steps.values())),
    }


def columns(row: Record) -> Record:
    return {name: value for name, value in row.items() if name not in KEYS}


def differences(before: Any, after: Any, exceptions: Container[str] = (), path: str = "") -> Iterator[str]:
    """Each value that is another one, but for those of these paths."""
    field = re.sub(r"\[\d+\]", "", path).strip(".")
    if field in exceptions:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            yield from differences(before.get(name), after.get(name), exceptions, f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, values in enumerate(zip(before, after, strict=True)):
            yield from differences(*values, exceptions, f"{path}[{index}]")
    elif before != after:
        yield f"{path}: {before!r} became {after!r}"
