"""Where forks and comparisons are reached."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import TURN, Routes
from agents.base.lazy_import import LazyModule
from agents.forks import api as forks

compare = LazyModule("agents.forks.pages.compare")
fork_pages = LazyModule("agents.forks.pages.forks")

API = Routes(
    agents=[(f"{TURN}/fork", forks.TurnFork)],
    rest=[("logs/turns/<str:turn_id>/compare/<str:other_id>", forks.TurnComparison)],
)
PAGES: list[URLPattern] = [
    path("turns/compare/", compare.compare_choice, name="compare"),
    path("turns/<str:turn_id>/fork/", fork_pages.fork_page, name="turn-fork"),
    path("turns/<str:turn_id>/compare/<str:other_id>/", compare.compare_page, name="turn-compare"),
]
