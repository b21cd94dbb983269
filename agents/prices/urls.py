"""Where prices are reached."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import Routes
from agents.prices import pages as prices

API = Routes()
PAGES: list[URLPattern] = [
    path("prices/", prices.price_page, name="prices"),
    path("prices/apply/", prices.price_unpriced, name="prices-apply"),
]
