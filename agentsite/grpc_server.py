"""Speaks gRPC, for the reports of OTLP: on the event loop, with the work of each call on a request thread.

A call waits for its share of the callers like any request, and its sender is admitted before its message is read: the
library keeps messages in memory. It is imported only where `settings.OTLP_GRPC_PORT` says so, and grpcio is installed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any, NoReturn, TypeVar
from urllib.parse import unquote

import grpc
import grpc.aio
from django.conf import settings
from django.utils.datastructures import CaseInsensitiveMapping

from agents.base import shares
from agents.base.access import Actor
from agents.base.api.authentication import actor_of_sender
from agents.base.api.negotiation import for_caller
from agents.base.api.sender import address_behind
from agents.base.errors import AgentsError, TooLarge, Unavailable
from agents.telemetry.api import intake, otlp_grpc
from agents.telemetry.reading.otlp_responses import OtlpSignal
from agentsite import callers, request_log
from agentsite.request_threads import CALLER_SHARE, LARGE_BODY, RequestExecutor, RequestShares, RequestSlots

log = logging.getLogger(__name__)
T = TypeVar("T")

MESSAGE_TIMEOUT_S = 60.0
"""How long a message may take to arrive."""
CLOSE_S = 5.0
"""How long the library may take to close the connections of calls that were cut off: the process ends without it."""
MAX_STREAMS = 100
"""Calls of one connection at a time."""
CODES = {code.value[0]: code for code in grpc.StatusCode}

messages = RequestShares(settings.MAX_REQUESTS, settings.MAX_WAITING, share=CALLER_SHARE)
"""The shares of calls in the messages that are in memory."""


class GrpcServer:
    """Serves OTLP's gRPC services at an address."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    def bind(self) -> None:
        """Take the port. Raises OSError."""
        limit = settings.MAX_OTLP_MB * 2**20
        # the port is one process's alone, as that of HTTP is
        options = [
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", limit),
            ("grpc.max_concurrent_streams", MAX_STREAMS),
        ]
        self._server = grpc.aio.server(options=options)
        for service, signal in otlp_grpc.SERVICES.items():
            export = partial(_export, signal, f"/{service}/{otlp_grpc.METHOD}")
            # a call with one message is a stream of one: so its message is read when we ask for it
            methods = {otlp_grpc.METHOD: grpc.stream_unary_rpc_method_handler(export)}
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
        host = f"[{self._host}]" if ":" in self._host else self._host
        try:
            self._server.add_insecure_port(f"{host}:{self._port}")
        except RuntimeError as error:
            raise OSError(f"Cannot listen on {host}:{self._port}. Set OTLP_GRPC_PORT to another.") from error

    async def start(self) -> None:
        await self._server.start()

    async def stop(self, grace_s: float) -> None:
        """Take no new calls, and return when those that run have ended; they are cut off after some seconds."""
        try:
            async with asyncio.timeout(grace_s + CLOSE_S):
                await self._server.stop(grace_s)
        except TimeoutError:
            log.warning("the gRPC server did not stop %s seconds after its calls were cut off", CLOSE_S)


async def _export(signal: OtlpSignal, path: str, _messages: Any, context: Any) -> bytes:
    return await _Call(signal, path, context).answer()


class _Call:
    """One call."""

    def __init__(self, signal: OtlpSignal, path: str, context: Any) -> None:
        self._signal, self._path, self._context = signal, path, context
        metadata = ((name, text) for name, text in context.invocation_metadata() if isinstance(text, str))
        self._headers = CaseInsensitiveMapping(metadata)
        self._digest = callers.digest_of(self._headers)
        self._caller = callers.caller_of(self._digest, address_behind(self._headers, _address(context.peer())))
        self._actor: Actor | None = None

    async def answer(self) -> bytes:
        """Return the message that answers the call, or end it with the status of an error."""
        began = time.perf_counter()
        request_id = request_log.identify(self._headers)
        self._metadata = [("x-request-id", request_id)]
        shares.caller.set(self._caller)
        try:
            response = await self._take_in()
        except Exception as error:  # noqa: BLE001 - whatever fails, the call gets its status; `for_caller` logs what is a bug
            refusal = for_caller(error, None)
            intake.count_refusal(self._actor, self._path, refusal)
            request_log.answered_call(self._path, refusal.status, began, self._actor)
            await self._refuse(refusal)
        request_log.answered_call(self._path, 200, began, self._actor)
        self._context.set_trailing_metadata(self._metadata)
        return response

    async def _take_in(self) -> bytes:
        slots = RequestSlots()
        try:
            await slots.enter(messages, self._caller)
            actor = await self._on_thread(self._admitted)
            callers.remember(self._digest, actor)
            message = await self._read()
            export = partial(otlp_grpc.export, actor, self._signal, message)
            return await self._on_thread(export, large=len(message) > LARGE_BODY)
        finally:
            slots.leave()

    def _admitted(self) -> Actor:
        self._actor = actor = actor_of_sender(self._headers, self._path)
        otlp_grpc.admit(actor)
        return actor

    async def _read(self) -> bytes:
        """Return the message of the call. Raises TooLarge, Unavailable."""
        try:
            async with asyncio.timeout(MESSAGE_TIMEOUT_S):
                message = await self._context.read()
        except TimeoutError as error:
            raise Unavailable(f"The message did not arrive within {MESSAGE_TIMEOUT_S:g} s.") from error
        if message is grpc.aio.EOF:
            # the library has ended the call by itself if the message was too large, and tells us no more than this
            limit = f"{settings.MAX_OTLP_MB} MiB when it is unpacked"
            raise TooLarge(f"No message has arrived: it is larger than {limit}, or its sender gave up.")
        return bytes(message)

    async def _on_thread(self, call: Callable[[], T], *, large: bool = False) -> T:
        """Run a call on a request thread, once it is the caller's turn. Raises RateLimited, and what the call does."""
        executor = RequestExecutor()
        try:
            await executor.enter(self._caller, large=large)
            return await asyncio.wrap_future(executor.submit(copy_context().run, call))
        finally:
            executor.free()

    async def _refuse(self, error: AgentsError) -> NoReturn:
        status = otlp_grpc.status_of(error)
        details = [("grpc-status-details-bin", status.details)] if status.details else []
        await self._context.abort(CODES[status.code], status.message, (*self._metadata, *details))
        raise AssertionError("a call that is aborted raises")


def _address(peer: str) -> str:
    """Return the address in the library's name of a client: ``ipv4:127.0.0.1:40000``, ``ipv6:%5B::1%5D:40000``."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
