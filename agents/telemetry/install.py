"""Installs telemetry in the server: deleting a turn also deletes its traces, so that it is not projected again."""

from __future__ import annotations

from agents.record.store import deletion_hooks
from agents.record.store.deletion_hooks import DeletionHooks
from agents.telemetry.store.external import trace_deletion


def install() -> None:
    deletion_hooks.add("telemetry", DeletionHooks(sources=trace_deletion.delete_traces_of_turns))
