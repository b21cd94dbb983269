"""The network between a server and its database: bytes pass until a test cuts it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

RESET = b"\x01\x00\x00\x00\x00\x00\x00\x00"
"""SO_LINGER on, for no time: a socket that is closed tells the other side that its connection is gone."""


class Network:
    """Passes connections on to an address. It can be `cut`: connections end, and new ones are refused; or `go_silent`:
    they stay, and nothing arrives. `mend` ends both. It can also `lose` the answer to one commit, and `lead_to` another
    address."""

    def __init__(self, host: str, port: int) -> None:
        self._to = host, port
        self._loses: bytes | None = None
        self.lost = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._flows = threading.Event()
        self._flows.set()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = int(self._listening.getsockname()[1])
        self._accept()

    def cut(self) -> None:
        """End all connections, and refuse new ones."""
        _close(self._listening)
        with self._lock:
            connections, self._open = self._open, set()
        for connection in connections:
            with suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            _close(connection)

    def go_silent(self) -> None:
        """Let nothing through, without a word."""
        self._flows.clear()

    def lead_to(self, host: str, port: int) -> None:
        """Pass the connections that come from now on to another address."""
        self._to = host, port

    def mend(self) -> None:
        """Let bytes through again. What was underway in a silence is lost, and its connections with it."""
        if not self._flows.is_set():
            self.cut()
            self._flows.set()
        if self._listening.fileno() < 0:
            self._listening = socket.create_server(("127.0.0.1", self.port), backlog=512)
            self._accept()

    def lose(self, statement: bytes) -> None:
        """End the next connection that commits a transaction with a statement in which these words are, after the
        database has committed it and before that is answered; ``lost`` tells when. Statements and commits must not come
        in one packet, as where they are pipelined."""
        self._loses = statement
        self.lost.clear()

    def close(self) -> None:
        self._flows.set()
        self.cut()

    def _accept(self) -> None:
        threading.Thread(target=self._pass_on, args=(self._listening,), name="network", daemon=True).start()

    def _pass_on(self, listening: socket.socket) -> None:
        while True:
            try:
                near, _ = listening.accept()
            except OSError:  # it was cut
                return
            try:
                far = socket.create_connection(self._to)
            except OSError:  # nobody is there
                _close(near)
                continue
            with self._lock:
                self._open |= {near, far}
            passage = _Passage(near, far)
            for way in (self._ask, self._answer):
                threading.Thread(target=way, args=(passage,), name="network", daemon=True).start()

    def _ask(self, passage: _Passage) -> None:
        with suppress(OSError):
            while data := passage.near.recv(65536):
                self._flows.wait()
                if self._loses is not None and self._loses in data:
                    self._loses, passage.will_lose = None, True
                elif passage.will_lose and b"COMMIT" in data:
                    passage.loses = True
                passage.far.sendall(data)
        self._end(passage)

    def _answer(self, passage: _Passage) -> None:
        with suppress(OSError):
            while data := passage.far.recv(65536):
                self._flows.wait()
                if passage.loses:
                    self.lost.set()
                    break
                passage.near.sendall(data)
        self._end(passage)

    def _end(self, passage: _Passage) -> None:
        with self._lock:
            self._open -= {passage.near, passage.far}
        _close(passage.near)
        _close(passage.far)


@dataclass
class _Passage:
    """Two connections, one of which asks the other. ``will_lose`` says that its transaction is the one whose commit is
    not answered, and ``loses`` that this was asked."""

    near: socket.socket
    far: socket.socket
    will_lose: bool = False
    loses: bool = False


def _close(connection: socket.socket) -> None:
    """Close a socket also for a thread that waits at it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def between(url: str) -> Iterator[tuple[Network, str]]:
    """A network in front of a database, and the database's URL through it."""
    parts = urlsplit(url)
    network = Network(parts.hostname or "127.0.0.1", parts.port or 5432)
    user = parts.netloc.rpartition("@")[0]
    netloc = f"{user}@127.0.0.1:{network.port}" if user else f"127.0.0.1:{network.port}"
    try:
        yield network, parts._replace(netloc=netloc).geturl()
    finally:
        network.close()
