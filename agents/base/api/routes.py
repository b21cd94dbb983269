"""The views of a subject, by the tables of the API in which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base.api.views import ApiView

Route = tuple[str, type[ApiView]]
SESSION = "agents/<str:agent_id>/session/<str:session_id>"
TURN = f"{SESSION}/turn/<str:turn_id>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """``first`` stand before all others under ``/v1``, where a word of theirs would be an id; ``agents`` and ``openai``
    are there under several prefixes, ``rest`` under ``/v1`` alone; ``elsewhere`` are whole prefixes of their own, with
    their views."""

    first: Sequence[Route] = ()
    agents: Sequence[Route] = ()
    openai: Sequence[Route] = ()
    rest: Sequence[Route] = ()
    elsewhere: Sequence[tuple[str, Sequence[Route]]] = ()
