"""How requests are sent, by a sync and an async client.

A method of a resource is a generator: it yields a `Request`, is given the `Answer`, and returns its result, so it is
written once. `call` makes a method of it that a sync client runs and an async client awaits, both with its parameters.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass
from random import SystemRandom
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeGuard, TypeVar, overload

import httpx2
from pydantic import BaseModel

from turnlog.client.errors import TurnlogError, Unreachable, error_of

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

RETRIES, MAX_WAIT_S = 2, 20.0
"""How often a request is sent again, and the longest pause that is waited for."""
_TRANSIENT = frozenset({429, 502, 503, 504})
_RETRY_AFTER = frozenset({429, 503})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """``path`` is below ``/v1/``. A parameter of None is not sent. ``sink`` takes the body of the answer by pieces;
    ``timeout_s`` is for an answer that takes long. With ``failed_turn`` an error that tells of a whole turn, which has
    failed, is an answer as any other."""

    method: str
    path: str
    params: Mapping[str, Any]
    json: Any = None
    sink: Callable[[bytes], object] | None = None
    timeout_s: float | None = None
    failed_turn: bool = False

    def is_answered(self, outcome: Answer | Unreachable) -> TypeGuard[Answer]:
        """Tell whether this is what was asked for."""
        return isinstance(outcome, Answer) and (outcome.is_success or (self.failed_turn and outcome.has_turn))

    def arguments(self) -> dict[str, Any]:
        """Return what the HTTP library takes."""
        arguments: dict[str, Any] = {"method": self.method, "url": f"/v1/{self.path}"}
        arguments["params"] = {name: _text(value) for name, value in self.params.items() if value is not None}
        if self.json is not None:
            arguments["json"] = self.json
        if self.timeout_s is not None:
            arguments["timeout"] = self.timeout_s
        return arguments


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def has_turn(self) -> bool:
        try:
            content = json.loads(self.body)
        except ValueError:
            return False
        return isinstance(content, dict) and isinstance(content.get("turn"), dict)


Steps: TypeAlias = Generator[Request, Answer, T]


def ask(kind: type[M], method: str, path: str, *, json: Any = None, **params: Any) -> Steps[M]:
    """Ask for one object."""
    answer = yield Request(method=method, path=path, params=params, json=json)
    return kind.model_validate_json(answer.body)


def tell(method: str, path: str, *, json: Any = None) -> Steps[None]:
    """Send what is answered with nothing that matters."""
    yield Request(method=method, path=path, params={}, json=json)


def _pause_s(request: Request, outcome: Answer | Unreachable, attempt: int) -> float:
    """Return for how long to wait before a request is sent again. Raises what went wrong where it is not. A request
    that changes something is repeated only where the server asked for that."""
    failure: TurnlogError
    if isinstance(outcome, Unreachable):
        failure, retry_after_s = outcome, None
        again = request.method == "GET" and request.sink is None
    else:
        failure = error_of(outcome.status, outcome.headers, outcome.body)
        retry_after_s = failure.retry_after_s
        is_repeatable = outcome.status in _RETRY_AFTER and retry_after_s is not None
        again = is_repeatable or (request.method == "GET" and outcome.status in _TRANSIENT)
    wait_s = retry_after_s if retry_after_s is not None else 0.5 * 2**attempt * SystemRandom().uniform(0.5, 1)
    if not again or attempt >= RETRIES or wait_s > MAX_WAIT_S:
        raise failure
    return wait_s


class Sync:
    """Sends requests, one after the other."""

    def __init__(self, http: httpx2.Client) -> None:
        self.http = http

    def run(self, steps: Steps[T]) -> T:
        try:
            request = next(steps)
            while True:
                request = steps.send(self._send(request))
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()

    def _send(self, request: Request) -> Answer:
        for attempt in itertools.count():
            outcome = self._exchange(request)
            if request.is_answered(outcome):
                return outcome
            time.sleep(_pause_s(request, outcome, attempt))  # as the server asked, or a moment that grows
        raise AssertionError  # the loop has no end

    def _exchange(self, request: Request) -> Answer | Unreachable:
        try:
            with self.http.stream(**request.arguments()) as response:
                if request.sink is None or not response.is_success:
                    return Answer(response.status_code, response.headers, response.read())
                for chunk in response.iter_bytes():
                    request.sink(chunk)
                return Answer(response.status_code, response.headers, b"")
        except httpx2.TransportError as error:
            return Unreachable(str(self.http.base_url), str(error) or type(error).__name__)


class Async:
    """Sends requests beside other work of the event loop."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def run(self, steps: Steps[T]) -> T:
        try:
            request = next(steps)
            while True:
                request = steps.send(await self._send(request))
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()

    async def _send(self, request: Request) -> Answer:
        for attempt in itertools.count():
            outcome = await self._exchange(request)
            if request.is_answered(outcome):
                return outcome
            await asyncio.sleep(_pause_s(request, outcome, attempt))
        raise AssertionError  # the loop has no end

    async def _exchange(self, request: Request) -> Answer | Unreachable:
        try:
            async with self.http.stream(**request.arguments()) as response:
                if request.sink is None or not response.is_success:
                    return Answer(response.status_code, response.headers, await response.aread())
                async for chunk in response.aiter_bytes():
                    request.sink(chunk)
                return Answer(response.status_code, response.headers, b"")
        except httpx2.TransportError as error:
            return Unreachable(str(self.http.base_url), str(error) or type(error).__name__)


S = TypeVar("S", Sync, Async)


class Resource(Generic[S]):
    """A part of the API, for a client of one of the two kinds."""

    def __init__(self, sender: S, time_zone: str | None = None) -> None:
        self._sender: S = sender
        self._time_zone = time_zone


class call(Generic[P, T]):
    """A method that a sync client runs and an async client awaits, made of a generator of requests."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[T]]) -> None:
        self.steps = steps
        self.__doc__ = steps.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> call[P, T]: ...
    @overload
    def __get__(self, instance: Resource[Sync], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Resource[Async], owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self

        @functools.wraps(self.steps)
        def run(*args: P.args, **kwargs: P.kwargs) -> Any:
            return instance._sender.run(self.steps(instance, *args, **kwargs))

        return run
