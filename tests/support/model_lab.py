"""An endpoint that judges: a real HTTP server that plays Llama Guard, ``/moderations``,
``/embeddings`` and a model of chats and texts with habits of its own. What it was sent is in ``seen``.

Unsafe is what speaks of a bomb (S9), of somebody's address (S7) or of a novelty (S99, of no policy),
in the last message of the side that the prompt asks about. The model's name picks a habit: ``mute``
gives no verdict, ``slow`` waits until it is let go, ``strict`` refuses every request with 400, ``full``
as one that is too long, ``cut`` breaks off in the middle, and ``told`` streams the events that its last
message is a list of, as JSON.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE_S = 60.0
UNSAFE = {"bomb": "S9", "address": "S7", "novelty": "S99"}
USAGE = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}


@dataclass
class ModelLab:
    """``go`` lets the slow model answer; ``left`` is set once its caller has hung up."""

    url: str = ""
    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    go: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)

    def sent(self, path: str, question: str) -> dict[str, Any]:
        """The last body that came to this path and speaks of ``question``."""
        return [body for where, body in self.seen if where == path and question in json.dumps(body)][-1]


def verdict(prompt: str) -> str:
    """What Llama Guard says to a prompt in its makers' form."""
    role = prompt.split("ONLY THE LAST ", 1)[1].split(" ", 1)[0]
    talk = prompt.split("<BEGIN CONVERSATION>", 1)[1].split("<END CONVERSATION>", 1)[0]
    last = talk.rsplit(f"\n\n{role}: ", 1)[1].split("\n\nUser: ")[0].split("\n\nAgent: ")[0]
    policy = prompt.split("<BEGIN UNSAFE CONTENT CATEGORIES>", 1)[1].split("<END", 1)[0]
    codes = [code for word, code in UNSAFE.items() if word in last and (f"{code}: " in policy or code == "S99")]
    return "\n\nunsafe\n" + ",".join(codes) if codes else "\n\nsafe"


def moderated(text: str) -> dict[str, Any]:
    return {
        "flagged": "bomb" in text or "address" in text,
        "categories": {"violence": "bomb" in text, "privacy": "address" in text, "hate": False},
        "category_scores": {"violence": 0.9 if "bomb" in text else 0.01, "privacy": 0.5, "hate": 0.0},
    }


class _Handler(BaseHTTPRequestHandler):
    lab: ModelLab

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""

    def do_GET(self) -> None:
        names = ("guard-3", "guard-4", "mute", "slow", "strict", "full", "cut", "chat", "embed", "told")
        self._json({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})

    def do_POST(self) -> None:
        path = self.path.removeprefix("/v1")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.lab.seen.append((path, body))
        with suppress(OSError):
            answer = {"/chat/completions": self._chat, "/completions": self._complete}
            {**answer, "/moderations": self._moderate, "/embeddings": self._embed}[path](body)

    def _moderate(self, body: dict[str, Any]) -> None:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        results = [moderated(text) for text in texts]
        self._json({"id": "m", "model": "omni", "results": results[1:] if body.get("model") == "mute" else results})

    def _embed(self, body: dict[str, Any]) -> None:
        data = [{"object": "embedding", "index": 0, "embedding": [1.0, 0.5]}]
        self._json({"object": "list", "model": body["model"], "data": data, "usage": USAGE})

    def _chat(self, body: dict[str, Any]) -> None:
        if body["model"] == "strict":
            self._json({"error": {"message": "temperature: too hot", "code": "too_hot"}}, 400)
        elif body["model"] == "full":
            self._json({"error": {"message": "The maximum context length is 8192 tokens."}}, 400)
        elif body.get("stream"):
            self._stream(body)
        else:
            if body["model"] == "slow":
                self._wait()
            message = {"role": "assistant", "content": self._said(body), "annotations": []}
            choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
            whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 5, "model": "chat-0613"}
            self._json({**whole, "choices": [choice], "usage": USAGE, "system_fingerprint": "fp"})

    def _said(self, body: dict[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        if body["model"] == "mute":
            return "I would rather not say."
        return verdict(text) if "<BEGIN CONVERSATION>" in text else f"You said: {text}"

    def _complete(self, body: dict[str, Any]) -> None:
        """Texts that go on after theirs; ``cut`` breaks off in the middle of the second part."""
        prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        head = {
            "id": "cmpl-1",
            "object": "text_completion",
            "created": 5,
            "model": "chat-0613",
            "system_fingerprint": "fp",
        }
        choices = [
            {"index": index, "text": f"{prompt} and on", "finish_reason": "stop", "logprobs": None}
            for index, prompt in enumerate(prompts)
        ]
        if body["model"] == "strict":
            self._json({"error": {"message": "logprobs: not for this model", "code": "no"}}, 400)
        elif not body.get("stream"):
            self._json({**head, "choices": choices, "usage": USAGE})
        else:
            self._stream_texts(body, head, choices)

    def _stream_texts(self, body: dict[str, Any], head: dict[str, Any], choices: list[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for choice in choices:
            half = len(choice["text"]) // 2
            self._event({**head, "choices": [{**choice, "text": choice["text"][:half], "finish_reason": None}]})
            if body["model"] == "slow":
                self._wait()
            if body["model"] != "cut":
                self._event({**head, "choices": [{**choice, "text": choice["text"][half:]}]})
        if (body.get("stream_options") or {}).get("include_usage"):
            self._event({**head, "choices": [], "usage": USAGE})
        self.wfile.write(b"data: [DONE]\n\n")

    def _stream(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if body["model"] == "told":
            for event in json.loads(body["messages"][-1]["content"]):
                self._event(event)
            return
        said = self._said(body)
        half = len(said) // 2
        self._chunk({"role": "assistant", "content": said[:half]})
        if body["model"] == "slow":
            self._wait()
        if body["model"] == "cut":
            return
        self._chunk({"content": said[half:]})
        self._chunk({}, "stop")
        if (body.get("stream_options") or {}).get("include_usage"):
            self._event({"choices": [], "usage": USAGE})
        self.wfile.write(b"data: [DONE]\n\n")

    def _wait(self) -> None:
        """Until the test lets go, or the caller hangs up. The next slow one waits anew."""
        self.connection.settimeout(0.05)
        while not self.lab.go.is_set():
            with suppress(TimeoutError):
                if not self.connection.recv(1, socket.MSG_PEEK):
                    self.lab.left.set()
                    raise BrokenPipeError
        self.lab.go.clear()
        self.connection.settimeout(PATIENCE_S)

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> None:
        self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _event(self, more: dict[str, Any]) -> None:
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 5, "model": "chat-0613"}
        self.wfile.write(b"data: %b\n\n" % json.dumps({**head, **more, "system_fingerprint": "fp"}).encode())
        self.wfile.flush()

    def _json(self, value: dict[str, Any], status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())


@contextmanager
def serving() -> Iterator[ModelLab]:
    """The endpoint, for as long as the block lasts."""
    lab = ModelLab()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"lab": lab}))
    server.daemon_threads = True
    lab.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="model lab", daemon=True)
    thread.start()
    try:
        yield lab
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
