"""Turns as they are compared when they were written out and read back: without what no other server can have."""

from __future__ import annotations

from typing import Any

import msgspec

from agents.base.access import Actor, system
from agents.record.models.turns import Turn
from agents.record.store import turn_records

OPEN = {"queued": "in_progress"}
WAITING = {"awaiting_input": "in_progress"}
"""Nobody here waits for the answer of a step that ran elsewhere."""


def of_owner(actor: Actor) -> Any:
    return Turn.objects.unscoped("test").filter(owner_id=actor.user_id)


def seen(turns: Any) -> list[dict[str, Any]]:
    """All turns of a query, by the time they began."""
    keys = turns.values_list("pk", flat=True)
    found = [msgspec.json.decode(turn_records.encoded(turn_records.of_turn(system("test"), key))) for key in keys]
    found.sort(key=lambda record: (record["started_at"], record["model"], repr(record.get("input"))))
    places: dict[str, int] = {}
    return [_turn(record, places) for record in found]


def _turn(record: dict[str, Any], places: dict[str, int]) -> dict[str, Any]:
    session = record.pop("session")
    agent = record.pop("agent")
    for name in ("id", "source", "api", "stop_reason", "foreign"):
        record.pop(name, None)
    steps = record.pop("steps", [])
    order = {step["id"]: step["number"] for step in steps}
    judged = record.pop("feedback", [])
    return {
        **record,
        "status": OPEN.get(record["status"], record["status"]),
        "session": places.setdefault(session["id"], len(places)),
        "agent": agent.get("name") or agent.get("model"),
        "instructions": agent.get("instructions"),
        "steps": [_step(step, order) for step in steps],
        "feedback": sorted((_feedback(entry, order) for entry in judged), key=repr),
    }


def _feedback(entry: dict[str, Any], order: dict[str, int]) -> dict[str, Any]:
    return {**entry, "id": None, "step": order.get(entry.get("step", ""))}


def _step(step: dict[str, Any], order: dict[str, int]) -> dict[str, Any]:
    parent = order.get(step.get("parent", ""))
    for name in ("id", "round", "server_side"):
        step.pop(name, None)
    status = WAITING.get(step["status"], step["status"])
    if status == "in_progress":
        step.pop("detail", None)
    return {**step, "parent": parent, "status": status}
