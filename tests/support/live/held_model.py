"""A model endpoint whose answers a test holds in its hands: a turn stands in the middle of its
answer for as long as the test wants, and no test has to guess how long something takes.

It speaks the chat completions that the server's ``openai_compatible`` endpoints read.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import Any

_calls = itertools.count(1)
PATIENCE_S = 60.0
"""An answer nobody ends is broken off, so that a failing test ends."""


class Held:
    """What is answered, in one inference or several, to the user message ``question``; ``asked`` are
    the messages of each inference."""

    def __init__(self, number: int) -> None:
        self.question = f"held question {number}"
        self.asked: list[list[dict[str, Any]]] = []
        self.pieces: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def say(self, text: str) -> None:
        """The next token."""
        self.pieces.put({"delta": {"content": text}, "finish_reason": None})

    def call(self, name: str, arguments: str = "{}") -> None:
        """A call of a tool, and the end."""
        function = {"name": name, "arguments": arguments}
        call = {"index": 0, "id": f"call_{next(_calls)}", "type": "function", "function": function}
        self.pieces.put({"delta": {"tool_calls": [call]}, "finish_reason": None})
        self.pieces.put({"delta": {}, "finish_reason": "tool_calls"})

    def end(self, *last: str) -> None:
        """These tokens, and the end."""
        for text in last:
            self.say(text)
        self.pieces.put({"delta": {}, "finish_reason": "stop"})


class HeldModel:
    """The endpoint. The model ``held`` answers each question as its holder says."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._numbers = itertools.count(1)
        self._held: dict[str, Held] = {}

    def hold(self) -> Held:
        """A question that nobody has asked yet."""
        held = Held(next(self._numbers))
        self._held[held.question] = held
        return held

    def answer(self, messages: list[dict[str, Any]]) -> Held | None:
        """Who answers these messages: by the last of the user, or the beginning of it."""
        question = [message["content"] for message in messages if message["role"] == "user"][-1]
        if isinstance(question, list):  # of parts, the first of which is its words
            question = question[0]["text"]
        held = self._held.get(question.partition("\n")[0])
        if held:
            held.asked.append(messages)
        return held

    @property
    def environment(self) -> dict[str, str]:
        """What makes a server offer it as ``held/held``."""
        return {"MODEL_ENDPOINTS": json.dumps({"held": {"base_url": self.url}}), "DEFAULT_ENDPOINT": "scripted"}


def _handler(models: dict[str, HeldModel]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

        def do_GET(self) -> None:
            self._head("application/json")
            self.wfile.write(b'{"object":"list","data":[{"id":"held","object":"model","created":0}]}')

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.endswith("/chat/completions"):
                self.send_error(404)
                return
            try:
                held = models["held"].answer(body["messages"])
            except (LookupError, TypeError, AttributeError):  # of another shape
                self.send_error(400)
                return
            if held is None:
                self.send_error(404)
                return
            self._head("text/event-stream")
            with suppress(OSError, Empty):  # the server left, or the test did
                self._stream(held)

        def _stream(self, held: Held) -> None:
            finished = False
            while not finished:
                choice = held.pieces.get(timeout=PATIENCE_S)
                finished = choice["finish_reason"] is not None
                chunk = {"id": "held", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
                self.wfile.write(b"data: %b\n\n" % json.dumps(chunk).encode())
                self.wfile.flush()
            self.wfile.write(b"data: [DONE]\n\n")

        def _head(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()

    return Handler


@contextmanager
def serving() -> Iterator[HeldModel]:
    """The endpoint, for as long as the block lasts."""
    models: dict[str, HeldModel] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(models))
    server.daemon_threads = True
    models["held"] = HeldModel(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="held model", daemon=True)
    thread.start()
    try:
        yield models["held"]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
