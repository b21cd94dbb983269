"""Django's admin: agents and what they use, keys, users and their groups are managed here; the
record is read.

Where a table has rules, saving and deleting go through the store, as everywhere. Guarded tables
are seen as the reader's actor sees them.
"""

from agents.identity import admin as access
from agents.knowledge import admin as memory
from agents.pages.admin import agents, records, sessions, turns
from agents.prices import admin as prices
from agents.relay import admin as completions
from agents.tools import admin as tools
from agents.uikit.admin import registered

__all__ = ["access", "agents", "completions", "memory", "prices", "records", "registered", "sessions", "tools", "turns"]
