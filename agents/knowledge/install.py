"""How vector databases join the server: those of a session go with it."""

from __future__ import annotations

from agents.knowledge.store import vector_dbs
from agents.record.store import attached
from agents.record.store.attached import Attached


def install() -> None:
    attached.add("knowledge", Attached(sessions=vector_dbs.drop_of_sessions))
