"""Where the tools of the log are reached."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes
from agents.log_tools.api import LogTools

API = Routes(elsewhere=[("mcp", [("", LogTools)])])
PAGES: list[URLPattern] = []
