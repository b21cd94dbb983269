"""The two clients: the same resources, one to run and one to await."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Generic

import httpx2

from turnlog.client.logs import LoggedSteps, Responses, Sessions, Turns
from turnlog.client.resources import Budgets, FeedbackLog, SavedViews
from turnlog.client.transport import Async, S, Sync
from turnlog.client.webhooks import Webhooks

DEFAULT_URL, TIMEOUT_S = "http://localhost:8321", 60.0


class _Resources(Generic[S]):
    def __init__(self, sender: S, time_zone: str | None) -> None:
        self._sender: S = sender
        self.turns: Turns[S] = Turns(sender, time_zone)
        self.sessions: Sessions[S] = Sessions(sender, time_zone)
        self.steps: LoggedSteps[S] = LoggedSteps(sender, time_zone)
        self.responses: Responses[S] = Responses(sender, time_zone)
        self.feedback: FeedbackLog[S] = FeedbackLog(sender)
        self.budgets: Budgets[S] = Budgets(sender)
        self.webhooks: Webhooks[S] = Webhooks(sender)
        self.views: SavedViews[S] = SavedViews(sender)


def _options(url: str | None, api_key: str | None, timeout_s: float) -> dict[str, Any]:
    address = (url or os.environ.get("TURNLOG_URL") or DEFAULT_URL).rstrip("/").removesuffix("/v1")
    key = api_key or os.environ.get("TURNLOG_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return {"base_url": address, "headers": headers, "timeout": timeout_s}


class Turnlog(_Resources[Sync]):
    """A client of a server's log. ``url`` is by default TURNLOG_URL, else http://localhost:8321; ``api_key``
    (``ask_…``) is TURNLOG_API_KEY. Days of queries begin in ``time_zone`` (``Europe/Oslo``), by default UTC. Threads
    may share it."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        time_zone: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        super().__init__(Sync(httpx2.Client(**_options(url, api_key, timeout_s))), time_zone)

    def close(self) -> None:
        self._sender.http.close()

    def __enter__(self) -> Turnlog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncTurnlog(_Resources[Async]):
    """The same as `Turnlog`, to be awaited."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        time_zone: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        super().__init__(Async(httpx2.AsyncClient(**_options(url, api_key, timeout_s))), time_zone)

    async def close(self) -> None:
        await self._sender.http.aclose()

    async def __aenter__(self) -> AsyncTurnlog:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
