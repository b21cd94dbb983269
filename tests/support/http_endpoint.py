"""A small HTTP server on this machine that answers each request as a function says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: Message
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(value: Any, status: int = 200) -> Reply:
    return Reply(json.dumps(value).encode(), status, JSON)


@contextmanager
def answering(answer: Callable[[Request], Reply]) -> Iterator[str]:
    """A server for as long as the block lasts, by its address, such as ``http://127.0.0.1:4711``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = answer(Request(self.path, self.headers, body))
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_POST = do_DELETE = do_GET

        def log_message(self, *_: Any) -> None:
            """Nothing: the test's own output is read by people."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
