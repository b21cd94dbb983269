"""Where feedback is reached."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import Routes
from agents.feedback import api as feedback
from agents.feedback import pages as judged

API = Routes(rest=feedback.ROUTES)
PAGES: list[URLPattern] = [
    path("turns/<str:turn_id>/judged/", judged.turn_judged, name="turn-judged"),
    path("turns/<str:turn_id>/steps/<str:step_id>/judged/", judged.step_judged, name="step-judged"),
    path("sessions/<str:session_id>/judged/", judged.session_judged, name="session-judged"),
]
