"""URLs of feedback."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import Routes
from agents.base.lazy_import import LazyModule
from agents.feedback import api as feedback

pages = LazyModule("agents.feedback.pages")

API = Routes(rest=feedback.ROUTES)
PAGES: list[URLPattern] = [
    path("turns/<str:turn_id>/judged/", pages.turn_feedback, name="turn-judged"),
    path("turns/<str:turn_id>/steps/<str:step_id>/judged/", pages.step_feedback, name="step-judged"),
    path("sessions/<str:session_id>/judged/", pages.session_feedback, name="session-judged"),
]
