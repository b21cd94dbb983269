"""Django's admin: agents and what they use, keys, users and their groups are managed here; the
record is read.

Where a table has rules, saving and deleting go through the store, as everywhere. Guarded tables
are seen as the reader's actor sees them.
"""

from agents.admin import access, agents, completions, memory, prices, records, registered, sessions, tools, turns

__all__ = ["access", "agents", "completions", "memory", "prices", "records", "registered", "sessions", "tools", "turns"]
