"""The WebSockets: ``/ws/live``, which authenticates, reads subscriptions, forwards the events of turns from
`agents.record.live` and follows lists by the change feed; and ``/v1/responses``, OpenAI's."""

from agents.server.socket.consumer import LiveConsumer
from agents.server.socket.guard import OriginGuard, StoreFailureGuard

__all__ = ["LiveConsumer", "OriginGuard", "StoreFailureGuard"]
