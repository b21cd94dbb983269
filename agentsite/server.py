"""Extends Daphne's server by limits on bodies, a start before the first request, and a draining shutdown.

Without the limits any caller could fill the memory; without draining a SIGTERM cuts every stream
(and, with a request open, ends in a segmentation fault).
"""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import IO, Any

from autobahn.websocket import types as websocket_types
from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from django.conf import settings
from twisted.internet import defer
from twisted.internet import reactor as _reactor
from twisted.internet.tcp import Connection
from twisted.logger import globalLogBeginner
from twisted.web.http import _GenericHTTPChannelProtocol

from agents.base.errors import TooLarge
from agents.responses.wire.socket_stream import error_message
from agentsite import request_bodies
from agentsite.connections import EagerConnection, send_together
from agentsite.http_channel import ApiErrorChannel
from agentsite.http_handler import CALLER_KEY
from agentsite.request_threads import LARGE_BODY

reactor: Any = _reactor
"""Twisted's reactor is a module that behaves as an object; its stubs mean the interface."""
_denial: Any = websocket_types.ConnectionDeny

MAX_BACKPRESSURE_PAUSE_S = 0.02
"""Longest pause between two checks of a connection whose client does not read."""
MAX_WEBSOCKET_MESSAGE = SOCKET_BUFFER = 64 * 1024
GOING_AWAY = 1001
MAX_CLOSE_REASON = 123
"""Bytes of the reason in a frame that closes a socket."""
FLUSH_TIMEOUT_S, CLEAN_UP_TIMEOUT_S = 2.0, 5.0


def _silent(event: Any) -> None:
    """Discard Twisted's own log: ours has everything."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The largest bodies in bytes: of any request (``body``); of a file posted to a path that ``uploads`` matches,
    whose form may have `FORM` more; and of ``telemetry`` posted to one of the paths ``reports``."""

    body: int
    upload: int
    uploads: re.Pattern[bytes]
    telemetry: int = 0
    reports: frozenset[bytes] = frozenset()

    FORM = 64 * 1024

    def of(self, method: bytes, path: bytes) -> int:
        url_path = path.partition(b"?")[0] if method == b"POST" else b""
        if url_path in self.reports:
            return max(self.telemetry, self.body)
        return self.upload + self.FORM if self.uploads.fullmatch(url_path) else self.body


class LimitedRequest(WebRequest):  # type: ignore[misc]  # untyped
    """Refuses a body over the limit before it is buffered, by its length or as it arrives. A body larger than
    `LARGE_BODY` stays on disk, and is passed on in chunks."""

    refused = is_lost = False
    on_lost: Callable[[], object] | None = None
    received = cap = 0
    content: IO[bytes]
    large: IO[bytes] | None = None

    def gotLength(self, length: int | None) -> None:
        # Twisted would parse a whole form for arguments that nothing here uses
        self._parsePOSTFormSubmission = False
        self.cap = self.channel.factory.caps.of(self.channel._command, self.channel._path)
        if length is not None and length > self.cap:
            self._refuse()
        else:
            super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:
        self.received += len(data)
        if self.refused:
            return
        if self.received > self.cap:
            self._refuse()
        else:
            super().handleContentChunk(data)

    def process(self) -> Any:
        if self.refused:
            return None
        if self.channel.factory.is_stopping:  # the next request of this client is for another process
            self.channel.persistent = 0
            self.responseHeaders.setRawHeaders(b"connection", [b"close"])
        if self.received > LARGE_BODY:
            self.content.seek(0)
            self.large, self.content = self.content, BytesIO()
        return super().process()

    def connectionLost(self, reason: Any) -> None:
        self.is_lost = True
        if self.on_lost is not None:
            self.on_lost()
        self._close_body()
        super().connectionLost(reason)

    def finish(self) -> None:
        self._close_body()
        super().finish()

    def _close_body(self) -> None:
        if self.large is not None:
            self.large.close()

    def handle_exception(self, exception: BaseException) -> None:
        """Close the connection of a response that has started: Daphne would start a second one, fail, and stop
        serving all connections."""
        if not self._response_started:
            super().handle_exception(exception)
        elif self.channel is not None:
            self.channel.loseConnection()

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Send a part of a reply at once if the socket accepts it."""
        body = message.get("body", b"") if message["type"] == "http.response.body" else b""
        if body and message.get("more_body") and self.takes_part():
            self.send_part(body)
        else:
            send_together(self.channel, partial(super().handle_reply, message))

    def takes_part(self) -> bool:
        """Tell whether the reply has begun, and its next part may go at once."""
        channel = self.channel
        if channel is None or self.finished or not (self.startedWriting and self.chunked):
            return False
        return isinstance(channel.transport, EagerConnection) and channel.transport.is_free

    def send_part(self, body: bytes) -> None:
        """Send a part of the reply, after `takes_part`."""
        self.channel.transport.send_now(b"%x\r\n%b\r\n" % (len(body), body))

    def _refuse(self) -> None:
        self.refused = True
        path = self.channel._path.partition(b"?")[0].decode("latin-1").removeprefix(settings.URL_PREFIX)
        self.channel.refuse(TooLarge(f"The body is larger than {self.cap // 2**20} MiB."), path)


class LimitedHttpFactory(HTTPFactory):  # type: ignore[misc]  # untyped
    """Creates connections whose requests have limited bodies. While it ``is_stopping``, each of them ends with the
    answer it gives."""

    is_stopping = False

    @staticmethod
    def protocol() -> Any:
        """Return Twisted's protocol of a connection, around our channel."""
        return _GenericHTTPChannelProtocol(ApiErrorChannel())  # type: ignore[no-untyped-call]  # untyped library

    def __init__(self, server: Server, caps: BodyLimits) -> None:
        super().__init__(server)
        self.caps = caps

    def log(self, request: Any) -> None:
        """Write nothing: our own log has each request, and Twisted would make a line for each that nobody sees."""

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = LimitedRequest
        return protocol


class InboundLimitedProtocol(WebSocketProtocol):  # type: ignore[misc]  # untyped
    """A WebSocket that limits inbound messages only: the library has one limit for both directions and drops
    outbound messages above it. Where requests come as messages, they may be as large as bodies."""

    maxMessagePayloadSize: int
    maxFramePayloadSize: int

    has_requests = False

    def onConnect(self, request: Any) -> Any:
        if request.path.endswith("/responses"):
            self.has_requests = True
            self.maxMessagePayloadSize = self.maxFramePayloadSize = self.factory.server_class.caps.body
        return super().onConnect(request)

    def _max_message_size_exceeded(self, size: int, limit: int, reason: str) -> None:
        """Tell a client that has sent too large a request of the limit, in the words of its API, before the socket is
        closed."""
        if self.has_requests and self.state == self.STATE_OPEN:
            error = TooLarge(f"The message is larger than {limit // 2**20} MiB.")
            self.transport.write(_text_frame(error_message(error)))
        super()._max_message_size_exceeded(size, limit, reason)

    def sendMessage(self, *args: Any, **options: Any) -> None:
        limit, self.maxMessagePayloadSize = self.maxMessagePayloadSize, 0
        try:
            super().sendMessage(*args, **options)
        finally:
            self.maxMessagePayloadSize = limit

    def sendClose(self, code: int | None = None, reason: str | None = None) -> None:
        """Close with any code: the library lets an application say less than the protocol has (1012, a restart)."""
        self.sendCloseFrame(code=code, reasonUtf8=reason.encode()[:MAX_CLOSE_REASON] if reason else None)

    def handle_reply(self, message: dict[str, Any]) -> None:
        """Send several texts at once, the reason of a close with it, and the status of a refusal."""
        send_together(self, partial(self._reply, message))

    def _reply(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send" and "texts" in message:
            if self.state == self.STATE_OPEN:
                self.transport.write(b"".join(map(_text_frame, message["texts"])))
        elif message["type"] == "websocket.close" and "status" in message and self.state == self.STATE_CONNECTING:
            self._refuse(message["status"], message["reason"])
        elif message["type"] == "websocket.close" and message.get("reason") and self.state != self.STATE_CONNECTING:
            self.sendClose(code=message["code"], reason=message["reason"])
        else:
            super().handle_reply(message)

    def _refuse(self, status: int, reason: str) -> None:
        """Refuse the handshake as Daphne does, with another status than 403."""
        self.handshake_deferred.errback(_denial(code=status, reason=reason))
        del self.handshake_deferred
        self.server.protocol_disconnected(self)


def _text_frame(text: bytes) -> bytes:
    """Return a text as a frame of a server: whole, and not masked."""
    size = len(text)
    if size < 126:
        return struct.pack("!BB", 0x81, size) + text
    return (struct.pack("!BBH", 0x81, 126, size) if size < 65_536 else struct.pack("!BBQ", 0x81, 127, size)) + text


class SocketFactory(WebSocketFactory):  # type: ignore[misc]  # untyped
    """Creates WebSocket connections."""

    protocol = InboundLimitedProtocol


@dataclass(frozen=True, slots=True)
class ServerPhases:
    """What happens around the requests of a server: ``start`` before the first one is accepted, ``announce`` when it
    is told to stop (it returns once no new ones need to be accepted), ``drain`` after the last one, ``stop`` once no
    client is connected."""

    start: Callable[[], Awaitable[None]]
    announce: Callable[[], Awaitable[None]]
    drain: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]


class AgentServer(Server):  # type: ignore[misc]  # untyped
    """Serves on a bound socket."""

    def __init__(
        self,
        application: Any,
        listening: socket.socket,
        *,
        caps: BodyLimits,
        phases: ServerPhases,
    ) -> None:
        application = request_bodies.with_file_bodies(application)
        super().__init__(application, endpoints=["unused"], http_timeout=None, server_name="", verbosity=0)
        self._socket, self.caps = listening, caps
        self._phases = phases
        self._port: Any = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        self.connections: dict[Any, Any] = {}
        self.http_factory = LimitedHttpFactory(self, self.caps)
        self.ws_factory = SocketFactory(self, server="")
        self.ws_factory.setProtocolOptions(
            autoPingTimeout=self.ping_timeout,
            allowNullOrigin=True,
            openHandshakeTimeout=self.websocket_handshake_timeout,
            maxMessagePayloadSize=MAX_WEBSOCKET_MESSAGE,
            maxFramePayloadSize=MAX_WEBSOCKET_MESSAGE,
            failByDrop=False,  # send a close code: a page whose connection is only cut reconnects at once
        )
        begin: Any = globalLogBeginner
        begin.beginLoggingTo([_silent], redirectStandardIO=False, discardBuffer=True)
        asyncio.set_event_loop(reactor._asyncioEventloop)
        reactor.callLater(1, self.application_checker)
        reactor.callLater(2, self.timeout_checker)
        reactor.callWhenRunning(self._on_running)
        reactor.addSystemEventTrigger("before", "shutdown", self._on_shutdown)
        reactor.run()

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Wait, after a part of a stream or a socket's message, until the client has read enough: Daphne would buffer
        all of a long response in memory for a slow client."""
        if not self._is_connected(protocol):
            return
        protocol.handle_reply(message)
        if not message.get("more_body") and message["type"] != "websocket.send":
            return
        # most accept it at once; the longer one does not, the less often it is checked
        pause = MAX_BACKPRESSURE_PAUSE_S / 16
        while _is_congested(protocol) and self._is_connected(protocol):
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_BACKPRESSURE_PAUSE_S)

    def _is_connected(self, protocol: Any) -> bool:
        connection = self.connections.get(protocol)
        return connection is not None and connection.get("disconnected") is None

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        if isinstance(protocol, LimitedRequest):
            scope[CALLER_KEY] = protocol
            if protocol.large is not None:
                scope[request_bodies.BODY_KEY] = protocol.large
        return super().create_application(protocol, scope)

    def _on_running(self) -> None:
        starting = asyncio.ensure_future(self._phases.start())
        starting.add_done_callback(self._listen)

    def _listen(self, started: asyncio.Future[None]) -> None:
        self.failure = started.exception()
        if self.failure is not None:
            self.stop()
            return
        fd, family = self._socket.fileno(), self._socket.family
        self._port = reactor.adoptStreamPort(fd, family, self.http_factory)
        self._port.transport = EagerConnection
        self._socket.close()  # the reactor has its own copy

    def _on_shutdown(self) -> defer.Deferred[Any]:
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._shut_down()))

    async def _shut_down(self) -> None:
        """Say that this process stops, accept no new connections, drain, then disconnect the remaining clients. A
        second signal ends the process at once."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.http_factory.is_stopping = True
        if self.failure is None:
            await self._phases.announce()
        if self._port is not None:
            self._port.stopListening()
        if self.failure is None:
            await self._phases.drain()
            await self._disconnect_clients()
            await self._phases.stop()

    async def _disconnect_clients(self) -> None:
        """Let HTTP clients read to the end and disconnect by themselves; close the WebSockets."""
        await self._wait_for_applications(FLUSH_TIMEOUT_S, excluded=InboundLimitedProtocol)
        for protocol in list(self.connections):
            if isinstance(protocol, InboundLimitedProtocol):
                protocol.sendCloseFrame(code=GOING_AWAY)
        for application in self._applications():
            application.cancel()
        await self._wait_for_applications(CLEAN_UP_TIMEOUT_S)

    async def _wait_for_applications(self, seconds: float, excluded: type | None = None) -> None:
        running = self._applications(excluded)
        if running:
            await asyncio.wait(running, timeout=seconds)

    def _applications(self, excluded: type | None = None) -> list[asyncio.Future[Any]]:
        """Return the running applications, except those of connections of a kind."""
        running = [
            details.get("application_instance")
            for protocol, details in self.connections.items()
            if excluded is None or not isinstance(protocol, excluded)
        ]
        return [instance for instance in running if instance is not None and not instance.done()]


def _is_congested(protocol: Any) -> bool:
    """Return whether the buffer of a connection is full; for HTTP, Twisted has paused the channel then."""
    if isinstance(protocol, InboundLimitedProtocol):
        transport = protocol.transport
        return (
            isinstance(transport, Connection)
            and transport._tempDataLen + len(transport.dataBuffer) - transport.offset > SOCKET_BUFFER
        )
    return bool(getattr(getattr(protocol, "channel", None), "_waitingForTransport", False))
