"""The cases in the order they run: the store grows, so what needs it small comes first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from bench.cases import (
    budgets,
    client_tools,
    create,
    dialects,
    engines,
    fairness,
    fleet,
    function_calls,
    hostile_reports,
    idle_memory,
    imports,
    ingest,
    large_things,
    lists,
    live_lists,
    log_lists,
    log_numbers,
    log_tools,
    long_session,
    memory,
    metrics,
    paced,
    package,
    pages,
    parts,
    provider,
    reconnects,
    response_lists,
    responses,
    retrieval,
    server_tools,
    several,
    soak,
    sockets,
    start_up,
    takeover,
    turn_once,
    turns,
    watching,
    whole_turn,
    write_ahead,
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
    "function-calls": function_calls.rows,
    "package": package.rows,
    "responses": responses.rows,
    "dialects": dialects.rows,
    "reconnects": reconnects.rows,
    "sockets": sockets.rows,
    "long-session": long_session.rows,
    "create": create.rows,
    "lists": lists.rows,
    "retrieval": retrieval.rows,
    "response-lists": response_lists.rows,
    "log-lists": log_lists.rows,
    "log-tools": log_tools.rows,
    "live-lists": live_lists.rows,
    "log-numbers": log_numbers.rows,
    "pages": pages.rows,
    "ingest": ingest.rows,
    "hostile-reports": hostile_reports.rows,
    "large-things": large_things.rows,
    "fairness": fairness.rows,
    "memory": memory.rows,
    "takeover": takeover.rows,
    "watching": watching.rows,
    "several": several.rows,
    "engines": engines.rows,
    "parts": parts.rows,
    "fleet": fleet.rows,
    "write-ahead": write_ahead.rows,
    "metrics": metrics.rows,
    "budgets": budgets.rows,
    "start-up": start_up.rows,
    "idle-memory": idle_memory.rows,
}
"""By the name ``--only`` takes."""

LONG: dict[str, Case] = {
    "log-lists-large": log_lists.large,
    "log-numbers-large": log_numbers.large,
    "imports": imports.rows,
    "soak": soak.rows,
}
"""Cases that run only when they are asked for: they take many minutes."""
