"""Installs webhooks in the server: what turns come to is noted where it is stored, and sent."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.background import backgrounds
from agents.record.store import ending_hooks


def install() -> None:
    ending_hooks.add("webhooks", LazyFunction("agents.webhooks.store.events.note"))
    ending_hooks.add_of_doubt("webhooks", LazyFunction("agents.webhooks.store.events.note_doubt"))
    backgrounds["webhooks"] = LazyFunction("agents.webhooks.runner.background.WebhooksBackground")
