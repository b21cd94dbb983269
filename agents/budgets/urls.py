"""Where budgets are reached."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import Routes
from agents.base.lazy_import import LazyModule
from agents.budgets import api

pages = LazyModule("agents.budgets.pages")

API = Routes(rest=[("budgets", api.Budgets), ("budgets/<str:budget_id>", api.BudgetDetail)])
PAGES: list[URLPattern] = [
    path("budgets/", pages.budget_list, name="budgets"),
    path("budgets/<str:budget_id>/change/", pages.change, name="budget-change"),
    path("budgets/<str:budget_id>/delete/", pages.delete, name="budget-delete"),
]
