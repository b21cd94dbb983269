"""The cases in the order they run: the store grows, so what needs it small comes first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from bench.cases import (
    client_tools,
    create,
    idle_memory,
    lists,
    long_session,
    paced,
    provider,
    reconnects,
    response_lists,
    responses,
    retrieval,
    server_tools,
    sockets,
    start_up,
    turn_once,
    turns,
    whole_turn,
)
from bench.figures import Row
from bench.stage import Stage

Case = Callable[[Stage], AsyncIterator[Row]]

CASES: dict[str, Case] = {
    "provider": provider.rows,
    "turns": turns.rows,
    "paced": paced.rows,
    "turn-once": turn_once.rows,
    "whole-turn": whole_turn.rows,
    "client-tools": client_tools.rows,
    "server-tools": server_tools.rows,
    "responses": responses.rows,
    "reconnects": reconnects.rows,
    "sockets": sockets.rows,
    "long-session": long_session.rows,
    "create": create.rows,
    "lists": lists.rows,
    "retrieval": retrieval.rows,
    "response-lists": response_lists.rows,
    "start-up": start_up.rows,
    "idle-memory": idle_memory.rows,
}
"""By the name ``--only`` takes."""
