"""Routes WebSockets: those of pages and of OpenAI's Responses API, and the guards around them."""

from __future__ import annotations

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import path, re_path

from agents.server.socket import LiveConsumer, OriginGuard, StoreFailureGuard
from agents.server.socket.responses import NoSocket, ResponsesConsumer

RESPONSES_PATHS = ("v1/responses", "v1/openai/v1/responses")
_sockets = URLRouter(
    [
        path("ws/live", LiveConsumer.as_asgi()),
        *(path(name, ResponsesConsumer.as_asgi()) for name in RESPONSES_PATHS),
        re_path("", NoSocket.as_asgi()),
    ]
)
websocket = OriginGuard(StoreFailureGuard(AuthMiddlewareStack(_sockets)))
