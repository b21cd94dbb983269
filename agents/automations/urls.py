"""Where automations are reached."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.automations import api
from agents.base.api.routes import Routes
from agents.base.lazy_import import LazyModule

pages = LazyModule("agents.automations.pages")

_AUTOMATION = "agents/automations/<str:automation_id>"
API = Routes(
    first=[
        ("agents/automations", api.Automations),
        (_AUTOMATION, api.AutomationDetail),
        (f"{_AUTOMATION}/pause", api.AutomationPause),
        (f"{_AUTOMATION}/resume", api.AutomationResume),
        (f"{_AUTOMATION}/invocations", api.AutomationInvocations),
        (f"{_AUTOMATION}/invocations/<str:invocation_id>", api.AutomationInvocation),
    ]
)
PAGES: list[URLPattern] = [
    path("automations/", pages.automation_list, name="automations"),
    path("automations/<str:automation_id>/", pages.automation_page, name="automation"),
    path("automations/<str:automation_id>/change/", pages.change, name="automation-change"),
    path("automations/<str:automation_id>/run/", pages.run_now, name="automation-run"),
    path("automations/<str:automation_id>/delete/", pages.delete, name="automation-delete"),
]
