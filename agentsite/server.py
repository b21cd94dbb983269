"""Daphne's server with what it lacks: a cap on bodies, a start before the first request, and an
end that drains.

Without the cap any caller could fill the memory; without the drain a SIGTERM cuts every stream
(and, with a request open, ends in a segmentation fault).
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.server import Server
from daphne.ws_protocol import WebSocketFactory, WebSocketProtocol
from twisted.internet import defer
from twisted.internet import reactor as _reactor
from twisted.internet.tcp import Connection
from twisted.logger import globalLogBeginner
from twisted.web.http import _GenericHTTPChannelProtocol

from agents.base.errors import TooLarge
from agentsite import request_bodies
from agentsite.http_channel import ApiErrorChannel

reactor: Any = _reactor
"""Twisted's reactor is a module that behaves as an object; its stubs mean the interface."""

MAX_BACKPRESSURE_PAUSE_S = 0.02
"""Between two looks at a socket that takes nothing, at most."""
LARGE_BODY = 1024 * 1024
"""Bytes of a body that is handed over piece by piece."""
MAX_WEBSOCKET_MESSAGE = SOCKET_BUFFER = 64 * 1024
GOING_AWAY = 1001
FLUSH_TIMEOUT_S, CLEAN_UP_TIMEOUT_S = 2.0, 5.0


def _silent(event: Any) -> None:
    """Twisted's own log has nothing ours has not."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The most bytes a body may have: of any request; of a file that is posted to one of ``uploads``
    (paths), whose form may have `FORM` bytes besides; and of ``telemetry``, posted to one of ``reports``."""

    body: int
    upload: int
    uploads: frozenset[bytes] = frozenset()
    telemetry: int = 0
    reports: frozenset[bytes] = frozenset()

    FORM = 64 * 1024

    def of(self, method: bytes, path: bytes) -> int:
        url_path = path.partition(b"?")[0] if method == b"POST" else b""
        if url_path in self.reports:
            return max(self.telemetry, self.body)
        return self.upload + self.FORM if url_path in self.uploads else self.body


class LimitedRequest(WebRequest):  # type: ignore[misc]  # untyped
    """Refuses a body over the cap before it is buffered, by length or as it arrives. One that is larger
    than other requests' may be stays on disk."""

    refused = False
    received = cap = 0
    content: IO[bytes]
    large: IO[bytes] | None = None

    def gotLength(self, length: int | None) -> None:
        # Twisted would read a form to its end, for arguments that nobody here asks for
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
        if self.received > LARGE_BODY:
            self.content.seek(0)
            self.large, self.content = self.content, BytesIO()
        return super().process()

    def connectionLost(self, reason: Any) -> None:
        self._close_body()
        super().connectionLost(reason)

    def finish(self) -> None:
        self._close_body()
        super().finish()

    def _close_body(self) -> None:
        if self.large is not None:
            self.large.close()

    def handle_exception(self, exception: BaseException) -> None:
        """An answer that has begun is broken off: Daphne would begin a second one, fail at that, and look
        after no connection any more."""
        if not self._response_started:
            super().handle_exception(exception)
        elif self.channel is not None:
            self.channel.loseConnection()

    def handle_reply(self, message: dict[str, Any]) -> None:
        """A part of a stream goes out at once where the socket takes it: Twisted would first ask
        the loop for a writable moment, at two system calls and a round of the loop per token."""
        if message["type"] != "http.response.body" or not message.get("more_body") or not self._send_now(message):
            super().handle_reply(message)

    def _send_now(self, message: dict[str, Any]) -> bool:
        body, channel = message.get("body", b""), self.channel
        if not body or not self.startedWriting or not self.chunked or self.finished or channel is None:
            return False
        transport = channel.transport
        # something waits already, or this is no plain socket: in line, then
        if not isinstance(transport, Connection) or transport.dataBuffer or transport._tempDataBuffer:
            return False
        part = b"%x\r\n%b\r\n" % (len(body), body)
        sent = transport.writeSomeData(part)
        if not isinstance(sent, int) or sent < 0:
            sent = 0  # the connection is lost; Twisted finds out on its own way
        if sent < len(part):
            transport.write(part[sent:])  # type: ignore[no-untyped-call]  # untyped library
        return True

    def _refuse(self) -> None:
        self.refused = True
        self.channel.refuse(TooLarge(f"The body is larger than {self.cap // 2**20} MiB."))


class LimitedHttpFactory(HTTPFactory):  # type: ignore[misc]  # untyped
    """Makes connections whose requests are capped."""

    @staticmethod
    def protocol() -> Any:
        """What Twisted makes of every connection, around a channel of ours."""
        return _GenericHTTPChannelProtocol(ApiErrorChannel())  # type: ignore[no-untyped-call]  # untyped library

    def __init__(self, server: Server, caps: BodyLimits) -> None:
        super().__init__(server)
        self.caps = caps

    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = LimitedRequest
        return protocol


class InboundLimitedProtocol(WebSocketProtocol):  # type: ignore[misc]  # untyped
    """A socket that takes small messages and sends large ones: its library has one limit for both
    ways, and drops what is too large to be sent."""

    maxMessagePayloadSize: int

    def sendMessage(self, *args: Any, **options: Any) -> None:
        limit, self.maxMessagePayloadSize = self.maxMessagePayloadSize, 0
        try:
            super().sendMessage(*args, **options)
        finally:
            self.maxMessagePayloadSize = limit

    def handle_reply(self, message: dict[str, Any]) -> None:
        """An end with a reason is told with it."""
        if message["type"] == "websocket.close" and message.get("reason") and self.state != self.STATE_CONNECTING:
            self.sendClose(code=message["code"], reason=message["reason"])
        else:
            super().handle_reply(message)


class SocketFactory(WebSocketFactory):  # type: ignore[misc]  # untyped
    """Makes such sockets."""

    protocol = InboundLimitedProtocol


class AgentServer(Server):  # type: ignore[misc]  # untyped
    """Serves on a socket that is bound already. ``start`` runs before the first request is taken,
    ``drain`` after the last has been let in, ``stop`` once nobody is connected."""

    def __init__(
        self,
        application: Any,
        listening: socket.socket,
        *,
        caps: BodyLimits,
        start: Callable[[], Awaitable[None]],
        drain: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
    ) -> None:
        application = request_bodies.with_file_bodies(application)
        super().__init__(application, endpoints=["unused"], http_timeout=None, server_name="", verbosity=0)
        self._socket, self._caps = listening, caps
        self._start, self._drain, self._stop = start, drain, stop
        self._port: Any = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        self.connections: dict[Any, Any] = {}
        self.http_factory = LimitedHttpFactory(self, self._caps)
        self.ws_factory = SocketFactory(self, server="")
        self.ws_factory.setProtocolOptions(
            autoPingTimeout=self.ping_timeout,
            allowNullOrigin=True,
            openHandshakeTimeout=self.websocket_handshake_timeout,
            maxMessagePayloadSize=MAX_WEBSOCKET_MESSAGE,
            maxFramePayloadSize=MAX_WEBSOCKET_MESSAGE,
            failByDrop=False,  # say why: a page that is cut off would come again at once
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
        """Whoever streams goes on when the client has taken what was sent: Daphne would keep all of a long
        answer in memory for a slow one, and all that a socket is told."""
        await super().handle_reply(protocol, message)
        pause = (
            MAX_BACKPRESSURE_PAUSE_S / 16
        )  # most sockets take it at once; the longer one does not, the rarer it is looked at
        more = message.get("more_body") or message["type"] == "websocket.send"
        while more and self._is_congested(protocol):
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_BACKPRESSURE_PAUSE_S)

    def _is_congested(self, protocol: Any) -> bool:
        """Whether the socket's buffer is full: of a request as Twisted told the channel."""
        connection = self.connections.get(protocol)
        if connection is None or connection.get("disconnected") is not None:
            return False
        if isinstance(protocol, InboundLimitedProtocol):
            transport = protocol.transport
            return (
                isinstance(transport, Connection)
                and transport._tempDataLen + len(transport.dataBuffer) - transport.offset > SOCKET_BUFFER
            )
        return bool(getattr(getattr(protocol, "channel", None), "_waitingForTransport", False))

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        body = getattr(protocol, "large", None)
        if body is not None:
            scope[request_bodies.BODY_KEY] = body
        return super().create_application(protocol, scope)

    def _on_running(self) -> None:
        starting = asyncio.ensure_future(self._start())
        starting.add_done_callback(self._listen)

    def _listen(self, started: asyncio.Future[None]) -> None:
        self.failure = started.exception()
        if self.failure is not None:
            self.stop()
            return
        fd, family = self._socket.fileno(), self._socket.family
        self._port = reactor.adoptStreamPort(fd, family, self.http_factory)
        self._socket.close()  # the reactor has its own copy

    def _on_shutdown(self) -> defer.Deferred[Any]:
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._shut_down()))

    async def _shut_down(self) -> None:
        """Take no new connections, let the runs end, then let go of who still listens. A second
        signal ends it at once."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if self._port is not None:
            self._port.stopListening()
        if self.failure is None:
            await self._drain()
            await self._disconnect_clients()
            await self._stop()

    async def _disconnect_clients(self) -> None:
        """Callers read the end of what has ended and go by themselves; sockets are told to."""
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
        """What still answers somebody, except over connections of a kind."""
        running = [
            details.get("application_instance")
            for protocol, details in self.connections.items()
            if excluded is None or not isinstance(protocol, excluded)
        ]
        return [instance for instance in running if instance is not None and not instance.done()]
