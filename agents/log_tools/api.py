"""``/mcp``: the Model Context Protocol over HTTP. One POST is one message, and its answer one JSON document."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import partial
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from agents.base.api.negotiation import read_json
from agents.base.api.views import ApiView, Awaited
from agents.base.lazy_import import LazyFunction
from turnlog import __version__

Message = MutableMapping[str, Any]
_server_for = LazyFunction("agents.log_tools.runner.server.server_for")
_manager_of = LazyFunction("agents.log_tools.runner.server.manager_of")
_ACCEPT = "application/json, text/event-stream"


class LogTools(ApiView):
    """The tools of the log, for agents. Each request stands alone: there is no session to keep or to end."""

    schema = None  # the protocol describes itself
    actions = {"post": "read"}

    def post(self, request: Request) -> HttpResponseBase:
        body = msgspec.json.encode(read_json(request._request))
        server = _server_for(self.actor, __version__)  # here: importing it takes a second, and would hold up the loop
        return Awaited(partial(_exchange, server, request._request, body))


async def _exchange(server: Any, request: HttpRequest, body: bytes) -> HttpResponseBase:
    """Hand a message to the SDK's server, and return its answer."""
    answer, parts = HttpResponse(), list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status_code = message["status"]
            for name, value in message.get("headers", ()):
                if name.lower() != b"content-length":
                    answer[name.decode("latin-1")] = value.decode("latin-1")
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    manager = _manager_of(server)
    async with manager.run():
        await manager.handle_request(_scope(request, len(body)), receive, send)
    answer.content = b"".join(parts)
    return answer


def _scope(request: HttpRequest, size: int) -> dict[str, Any]:
    """Return what the SDK looks at of a request: its method, path and headers. What a client accepts is not asked:
    the answer is JSON in any case."""
    sent = {**request.headers, "Accept": _ACCEPT, "Content-Length": str(size)}
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": request.scheme,
        "method": request.method,
        "path": request.path_info,
        "raw_path": request.path_info.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": None,
        "server": None,
    }
