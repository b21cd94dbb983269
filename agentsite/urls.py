"""The URL table: the API, the pages, the admin, health."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from agents.server.api.catalogue import alive, ready
from agents.server.api.metrics import Metrics

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", alive),
    path("readyz", ready),
    path("metrics", Metrics.as_view()),
    path("", include("agents.server.api.urls")),
    path("admin/", admin.site.urls),
    path("", include("agents.server.pages.urls")),
]
handler400 = "agents.uikit.errors.bad_request"
handler403 = "agents.uikit.errors.forbidden"
handler404 = "agents.uikit.errors.not_found"
handler500 = "agents.uikit.errors.server_error"
