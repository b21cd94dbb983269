"""The URL table: the API, the pages, the admin, health."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from agents.api.catalogue import alive, ready

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", alive),
    path("readyz", ready),
    path("", include("agents.api.urls")),
    path("admin/", admin.site.urls),
    path("", include("agents.ui.urls")),
]
handler400 = "agents.ui.errors.bad_request"
handler403 = "agents.ui.errors.forbidden"
handler404 = "agents.ui.errors.not_found"
handler500 = "agents.ui.errors.server_error"
