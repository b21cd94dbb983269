"""How vector databases join the server: those of a session go with it."""

from __future__ import annotations

from agents.knowledge.store import vector_dbs
from agents.record.store import deletion_hooks
from agents.record.store.deletion_hooks import DeletionHooks


def install() -> None:
    deletion_hooks.add("knowledge", DeletionHooks(sessions=vector_dbs.drop_of_sessions))
