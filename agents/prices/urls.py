"""Where prices are reached."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import Routes
from agents.base.lazy_import import LazyModule

prices = LazyModule("agents.prices.pages")

API = Routes()
PAGES: list[URLPattern] = [
    path("prices/", prices.price_page, name="prices"),
    path("prices/apply/", prices.price_unpriced, name="prices-apply"),
]
