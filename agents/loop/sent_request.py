"""A caller's request for a turn, beside its parsed body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.record.store import retries
from agents.record.store.agent_calls import NewCall
from agents.record.store.history import NewItem
from agents.record.store.new_responses import NewResponse
from agents.record.store.retries import Retry
from agents.record.store.sessions import NewSession


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request of a caller beside its parsed body: ``raw`` is the body as received, ``provider_data`` is for this
    run's providers and is never stored; ``inputs`` are messages that waited for an earlier turn, and begin this one;
    ``call`` is the call of another turn that this one answers.
    ``new_session`` is the session of its turn, where that is created with it, and ``earlier_items`` what was said in it
    elsewhere. A turn that ``fails_over_budget`` is stored, and fails, where another request would be refused."""

    raw: bytes = b""
    retry: Retry | None = None
    provider_data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    new_session: NewSession | None = None
    earlier_items: Sequence[NewItem] = ()
    inputs: Sequence[int] = ()
    fails_over_budget: bool = False
    call: NewCall | None = None

    def in_new_session(self, session: NewSession, earlier_items: Sequence[NewItem]) -> SentRequest:
        """Return the request of a turn that begins a session."""
        return replace(self, new_session=session, earlier_items=earlier_items)

    def new_response(self, actor: Actor, model: str) -> NewResponse:
        """Return the response that this request starts."""
        needs_caller = bool(self.provider_data)
        new = NewResponse(ids.new_key(), self.raw, model=model, retry=self.retry)
        return replace(new, needs_caller=needs_caller, actor=actor)

    def first_run(self) -> tuple[int, int] | None:
        """Return the turn and the number of the response that an earlier request with the same retry key started."""
        return retries.first_run(self.retry) if self.retry else None
