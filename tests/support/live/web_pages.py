"""A small web server on this machine, for what is fetched by URL. Counts what was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Pages:
    """What is at which path; ``asked`` are the paths in the order they were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._there: dict[str, tuple[int, bytes, dict[str, str]]] = {}
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                pages.asked.append(self.path)
                pages.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, body, headers = pages._there.get(self.path, (404, b"absent", {"Content-Type": "text/plain"}))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def put(self, path: str, body: bytes, kind: str = "text/plain", *, location: str = "", **headers: str) -> None:
        """Put a page at a path; one with ``location`` leads on."""
        named = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
        if location:
            named["Location"] = location
        self._there[path] = (302 if location else 200, body, named)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving() -> Iterator[Pages]:
    """Pages, for as long as the block lasts."""
    pages = Pages()
    pages.start()
    try:
        yield pages
    finally:
        pages.stop()
