"""Routes WebSockets: the URL ``/ws/live`` and the guards around it."""

from __future__ import annotations

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import path

from agents.server.socket import LiveConsumer, OriginGuard, StoreFailureGuard

_sockets = URLRouter([path("ws/live", LiveConsumer.as_asgi())])
websocket = OriginGuard(StoreFailureGuard(AuthMiddlewareStack(_sockets)))
