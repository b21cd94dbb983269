"""Answers HTTP requests by Django's views, each on a request thread.

Django's own handler starts two tasks for each request, one of which waits for its caller to leave, and changes to the
thread and back for work that takes no time. Here the server calls when the caller has left, requests of the API pass
only the middleware that does something for them, and nothing but the view is run on the thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from contextvars import copy_context
from functools import partial
from typing import Any, Protocol, cast

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest, get_script_prefix
from django.core.handlers.exception import convert_exception_to_response
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix
from django.utils.http import parse_header_parameters
from django.utils.log import log_response
from django.utils.module_loading import import_string

from agents.base import charsets, log_context
from agents.base.api.waiting import parts_of
from agents.base.open_streams import ON_RESPONSE_END
from agents.base.sse import ReaderSocket, reader_socket
from agentsite.middleware import executor_of, is_api
from agentsite.request_threads import EXECUTOR_KEY, RequestExecutor

CALLER_KEY = "agentsite.caller"
"""The key of a request's `CallerConnection` in its scope."""

Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Chain = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class CallerConnection(ReaderSocket, Protocol):
    """The connection of a request. ``on_lost`` is called on the loop when its caller leaves; ``is_lost`` tells that."""

    is_lost: bool
    on_lost: Callable[[], object] | None


def disconnect_request_signals() -> None:
    """Disconnect the signals by which Django drops broken connections: they cost two changes of thread per request,
    and each request thread does the same after each call."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    request_started.disconnect(reset_queries)


class KnownCharsetRequest(ASGIRequest):
    """A request that looks up only the charsets of documents: Python keeps every unknown name it was asked for, for
    ever, and anybody may send one. Its ``path`` is the one that its sender knows, below `URL_PREFIX`."""

    def __init__(self, scope: Any, body_file: Any) -> None:
        super().__init__(scope, body_file)
        self.path_info = scope["path"]  # Django's class would take the prefix off twice
        self.path = f"{settings.URL_PREFIX}{self.path_info}"

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        charset = self.content_params.get("charset", "")
        if charsets.python_name(charset):
            self.encoding = charset


class RequestThreadHandler(ASGIHandler):
    """Django's ASGI handler, with each request on a request thread."""

    request_class = KnownCharsetRequest

    def __init__(self) -> None:
        super().__init__()
        self._api_chain = _chain(self._api_response, settings.API_MIDDLEWARE)
        disconnect_request_signals()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        executor = scope[EXECUTOR_KEY] = RequestExecutor()
        scope[ON_RESPONSE_END] = []

        async def send_and_free(event: Any) -> None:
            if event["type"] == "http.response.body":
                executor.free()  # the view is done; a long stream does not need its thread
            await send(event)

        try:
            async with ThreadSensitiveContext(executor=executor):
                await self.handle(scope, receive, send_and_free)
        finally:
            executor.free()
            for call in scope[ON_RESPONSE_END]:
                call()

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        caller: CallerConnection | None = scope.get(CALLER_KEY)
        if caller is None:  # another server than ours
            await super().handle(scope, receive, send)
            return
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        reader_socket.set(caller)
        set_script_prefix(get_script_prefix(scope))
        request, response = self.create_request(scope, body)
        try:
            with _Presence(caller):
                if request is not None:
                    response = await self.run_get_response(request)
                await self.send_response(response, send)
        finally:
            if response is not None:
                await _close(response)
            body.close()

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        if not is_api(request.path_info):
            return await super().get_response_async(request)
        response = await self._api_chain(request)
        # as Django's own handler does; its stubs leave the list out
        response._resource_closers.append(request.close)  # type: ignore[attr-defined]  # see the line above
        if response.status_code >= 400:
            reason = response.reason_phrase
            log_response("%s: %s", reason, request.path, response=cast(HttpResponse, response), request=request)
        return response

    async def _api_response(self, request: HttpRequest) -> HttpResponseBase:
        """Run the view of a request of the API on its thread."""
        view, args, kwargs = self.resolve_request(request)
        context = copy_context()
        call = partial(context.run, _rendered, view, request, *args, **kwargs)
        response = await asyncio.get_running_loop().run_in_executor(executor_of(request), call)
        log_context.take_over(context)
        return response

    async def send_response(self, response: Any, send: Send) -> None:
        if not (response.streaming and response.is_async):
            await super().send_response(response, send)
            return
        headers = [(name.encode("ascii"), value.encode("latin1")) for name, value in response.items()]
        cookies = [
            (b"Set-Cookie", cookie.output(header="").encode("ascii").strip()) for cookie in response.cookies.values()
        ]
        await send({"type": "http.response.start", "status": response.status_code, "headers": [*headers, *cookies]})
        async with aclosing(parts_of(response)) as parts:
            async for part in parts:
                data = part if type(part) is bytes else response.make_bytes(part)
                for start in range(0, len(data), self.chunk_size):
                    chunk = data[start : start + self.chunk_size]
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body"})


class _Presence:
    """A block of a task that ends when the caller leaves: what it waits for is cancelled."""

    def __init__(self, caller: CallerConnection) -> None:
        task = asyncio.current_task()
        assert task is not None  # a request is answered in a task
        self._caller, self._task, self._has_left = caller, task, False

    def __enter__(self) -> None:
        self._caller.on_lost = self._leave
        if self._caller.is_lost:
            self._leave()

    def _leave(self) -> None:
        self._has_left = True
        self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        self._caller.on_lost = None
        is_cancelled_by_us = self._has_left and self._task.uncancel() == 0
        return is_cancelled_by_us and kind is not None and issubclass(kind, asyncio.CancelledError)


def _rendered(view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
    response = view(request, *args, **kwargs)
    return cast(HttpResponseBase, response.render() if hasattr(response, "render") else response)


def _chain(innermost: Chain, names: Sequence[str]) -> Chain:
    """Return the middleware with these names, the first outermost, around ``innermost``."""
    chain = convert_exception_to_response(innermost)
    for name in reversed(names):
        chain = convert_exception_to_response(import_string(name)(chain))
    return cast(Chain, chain)


async def _close(response: Any) -> None:
    if response.streaming and not response.is_async:
        await sync_to_async(response.close)()  # what it reads from may belong to a thread
    else:
        response.close()
