"""What CrewAI writes into OpenInference's spans where these have no names for it: a crew's tasks are its question."""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.coerce import sequence, text


def question(value: Any) -> str:
    """Return the descriptions of a crew's tasks."""
    tasks = [text(task.get("description")) for task in sequence(value) if isinstance(task, dict)]
    return "\n\n".join(filter(None, tasks))
