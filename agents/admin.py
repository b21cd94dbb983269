"""Django's admin: each subject registers its own tables."""

from agents.logs import admin as logs
from agents.loop import admin as loop
from agents.pages.admin import agents, records, sessions, turns
from agents.responses import admin as responses
from agents.server import subjects

subjects.load_admin()

__all__ = ["agents", "logs", "loop", "records", "responses", "sessions", "turns"]
