"""Where shields are reached."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes
from agents.safety import api as safety

API = Routes(
    openai=[("moderations", safety.Moderations)],
    rest=[
        ("shields", safety.ShieldList),
        ("shields/<path:shield_id>", safety.ShieldDetailView),
        ("safety/run-shield", safety.ShieldRun),
    ],
)
PAGES: list[URLPattern] = []
