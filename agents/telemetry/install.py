"""How logs of agents that run elsewhere join the server: a turn that is deleted is not made of its traces again."""

from __future__ import annotations

from agents.record.store import deletion_hooks
from agents.record.store.deletion_hooks import Attached
from agents.telemetry.store.external import trace_deletion


def install() -> None:
    deletion_hooks.add("telemetry", Attached(sources=trace_deletion.delete_traces_of_turns))
