"""The WebSockets: ``/ws/live``, which authenticates, reads subscriptions, forwards the events of turns from
`agents.record.live` and follows lists by the change feed; and ``/v1/responses``, OpenAI's."""

from agents.server.socket.consumer import LiveConsumer
from agents.server.socket.guard import OriginGuard, StoreFailureGuard
from agents.server.socket.responses import ResponsesConsumer

__all__ = ["LiveConsumer", "OriginGuard", "ResponsesConsumer", "StoreFailureGuard"]
