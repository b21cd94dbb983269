"""What the pages register with those of all subjects: how much waits for a person."""

from __future__ import annotations

from agents.record.store import waiting
from agents.uikit import navigation


def install() -> None:
    navigation.count_waiting_with(waiting.count_waiting)
