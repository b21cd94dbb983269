"""Sub-agents have no routes and pages of their own: their turns and sessions are like all others."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes

API = Routes()
PAGES: list[URLPattern] = []
