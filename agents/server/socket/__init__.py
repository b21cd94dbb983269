"""The WebSocket edge: ``/ws/live``. It authenticates, reads subscriptions, forwards the events of
turns that `agents.record.live` follows, and follows lists itself, from the feed of changes."""

from agents.server.socket.guard import OriginGuard, TroubleGuard
from agents.server.socket.socket import LiveConsumer

__all__ = ["LiveConsumer", "OriginGuard", "TroubleGuard"]
