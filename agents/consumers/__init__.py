"""The WebSocket edge: ``/ws/live``. Authenticates, reads subscriptions, forwards what `agents.record.live`
follows. No queries, no rules of its own."""

from agents.server.socket.guard import OriginGuard, TroubleGuard
from agents.server.socket.socket import LiveConsumer

__all__ = ["LiveConsumer", "OriginGuard", "TroubleGuard"]
