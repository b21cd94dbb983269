"""Django's admin: each subject registers its own tables."""

from agents.identity import admin as identity
from agents.knowledge import admin as knowledge
from agents.loop import admin as loop
from agents.pages.admin import agents, records, sessions, turns
from agents.prices import admin as prices
from agents.relay import admin as relay
from agents.safety import admin as safety
from agents.tools import admin as tools

__all__ = [
    "agents",
    "identity",
    "knowledge",
    "loop",
    "prices",
    "records",
    "relay",
    "safety",
    "sessions",
    "tools",
    "turns",
]
