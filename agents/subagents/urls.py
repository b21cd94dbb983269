"""Where the turns below a turn are reached. Sub-agents have no pages of their own: their turns and sessions are like
all others."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes
from agents.subagents import api

API = Routes(rest=[("logs/turns/<str:turn_id>/called", api.TurnsCalled)])
PAGES: list[URLPattern] = []
