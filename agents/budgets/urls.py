"""Where budgets are reached."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes
from agents.budgets import api

API = Routes(rest=[("budgets", api.Budgets), ("budgets/<str:budget_id>", api.BudgetDetail)])
PAGES: list[URLPattern] = []
