"""The WebSocket edge: ``/ws/live``. Authenticates, reads subscriptions, forwards what `agents.live`
follows. No queries, no rules of its own."""

from agents.consumers.guard import OriginGuard, TroubleGuard
from agents.consumers.socket import LiveConsumer

__all__ = ["LiveConsumer", "OriginGuard", "TroubleGuard"]
