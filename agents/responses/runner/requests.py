"""A request for a response, and the response that it has started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from agents.base.access import Actor
from agents.loop.loop import Loop
from agents.loop.spending import UnrecordedSpending
from agents.record.models.choices import Api
from agents.record.schemas.events import Event
from agents.record.store.agents import AgentRecord
from agents.record.store.history import NewItem
from agents.record.store.retries import Retry
from agents.responses.schemas.requests import CreateResponse
from agents.responses.schemas.tools import ResponseTool
from agents.responses.wire.responses import ResponseHead


@dataclass(frozen=True, slots=True)
class StartedResponse:
    """A started response. ``first_seq`` is the number of its first event. A response that is not stored has its
    ``loop``: it runs where it is read, in a slot of ``hold_slot``. ``is_repeated`` says that an earlier request has
    started it. ``cancel`` stops one that is recorded, but not to be stored, when its reader hangs up: nobody could read
    it later. ``spending`` counts what one spends that is not recorded."""

    head: ResponseHead
    turn: int
    first_seq: int
    queued: bool = False
    is_repeated: bool = False
    cancel: Callable[[], None] | None = None
    opening: Sequence[Event] = ()
    loop: Loop | None = None
    hold_slot: Callable[[], AbstractContextManager[None]] = nullcontext
    spending: UnrecordedSpending | None = None


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """A request for a response: its actor, its parsed and raw body, and the caller's data for providers.
    ``readable`` are its items with files replaced for the model, where there are files; ``earlier`` the items before
    it where they are not those of a stored response; ``agent`` is the agent that its model names; ``earlier_tools``
    are those that the items before it brought, the last ones first."""

    actor: Actor
    body: CreateResponse
    raw: bytes
    retry: Retry | None
    provider_data: Mapping[str, Any]
    readable: Sequence[Any] | None = None
    earlier: Sequence[NewItem] | None = None
    agent: AgentRecord | None = None
    earlier_tools: Sequence[ResponseTool] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the log keeps it although it is not to be stored."""
        keeps = self.actor.keeps_unstored
        return not self.body.store and (settings.KEEP_UNSTORED if keeps is None else keeps)

    @property
    def is_recorded(self) -> bool:
        return self.body.store or self.is_kept

    @property
    def is_steerable(self) -> bool:
        """Whether its client may say more while it runs. A conversation's items are in an order of their own, and a
        summary would take what was said for part of what came before."""
        return self.body.conversation is None and not (self.body.sums_up_only or self.body.context_management)

    @property
    def api(self) -> Api:
        return Api.RESPONSES if self.body.store else Api.UNSTORED
