"""A call of a model without an agent: counted, checked against budgets, and written to the log of chat completions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from agents.base import ids, metrics
from agents.base.access import Actor
from agents.base.errors import AgentsError
from agents.base.reading import read
from agents.base.schemas.wire import JSON
from agents.loop import spending
from agents.loop.spending import ModelNames
from agents.relay import store as completions
from agents.relay.models import CompletionStatus
from agents.relay.store import CompletionRecord
from agents.relay.wire.chat_completions import cut_choices, usage_of


@dataclass(slots=True)
class CallLog:
    """The log of one call. ``body`` is the request in the words of chat completions, of which ``model``, ``messages``,
    ``metadata`` and ``store`` count here; ``model`` is the endpoint's name of the model; ``fields`` are in the log
    beside the completion."""

    actor: Actor
    body: Mapping[str, JSON]
    model: str
    fields: Mapping[str, JSON] = field(default_factory=dict)
    key: int = field(default_factory=ids.new_key)
    created: int = field(default_factory=lambda: ids.now_us() // 1_000_000)

    async def check_budgets(self) -> None:
        """Raise BudgetReached, before anything is asked or logged."""
        await spending.check_later(spending.spender_of(self.actor), self._model_names)

    @asynccontextmanager
    async def written(
        self, endpoint: str, completion: Callable[[], Mapping[str, JSON]]
    ) -> AsyncIterator[metrics.Inference]:
        """Write what has come of the call when the block ends, however it does: complete, failed, or cancelled by a
        caller that hangs up. ``completion`` returns what of it there is then."""
        status, error = CompletionStatus.CANCELLED, None
        measured = metrics.Inference(endpoint)
        try:
            yield measured
            status = CompletionStatus.COMPLETED
        except AgentsError as failure:
            status, error = CompletionStatus.FAILED, failure
            raise
        finally:
            measured.end(status.label)
            await self._write(self.with_names(completion(), "chat.completion"), status, error)

    def with_names(self, completion: Mapping[str, JSON], kind: str) -> dict[str, JSON]:
        """Add the id it is logged under, and the model's name as the caller gave it."""
        head = {"id": ids.openai(ids.Kind.COMPLETION, self.key), "object": kind, "created": self.created}
        return {**head, **completion, **head, "model": self.body["model"]}

    @property
    def _model_names(self) -> ModelNames:
        return ModelNames(self.model, str(self.body["model"]))

    async def _write(self, completion: Mapping[str, JSON], status: CompletionStatus, error: AgentsError | None) -> None:
        """Count what was spent, and store the completion unless its request has ``store: false``, also when the caller
        has disconnected."""
        if status is not CompletionStatus.COMPLETED:
            completion = {**completion, "choices": cut_choices(completion["choices"])}
        usage = usage_of(completion)
        counted = spending.add(spending.spender_of(self.actor), self._model_names, usage, ids.now_us())
        await asyncio.shield(asyncio.ensure_future(counted))
        if self.body.get("store") is False:
            return
        error_json = {"message": error.message, "code": error.code, "type": error.type} if error else None
        body = {
            **completion,
            "input_messages": self.body["messages"],
            "metadata": self.body.get("metadata"),
            "status": status.label,
            "error": error_json,
            **self.fields,
        }
        record = CompletionRecord(
            key=self.key,
            model=str(self.body["model"]),
            status=status,
            usage=usage,
            body=msgspec.json.encode(body),
        )
        await asyncio.shield(asyncio.ensure_future(read(completions.add, self.actor, record)))
