"""The admin site: one login for the whole product, and tables in groups.

Outside ``agents.admin``, because that registers models with it on import.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from agents.base.subjects import is_installed

_GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("agents", gettext_noop("Agents"), ("Agent", "ToolGroup", "Shield", "RegisteredModel", "Price")),
    ("knowledge", gettext_noop("Knowledge"), ("VectorDB", "VectorDocument")),
    ("record", gettext_noop("Record"), ("Session", "Turn", "Step", "Response", "Item", "ChatCompletion", "Change")),
    ("retention", gettext_noop("Retention"), ("RetentionRule", "RetentionReceipt")),
    ("access", gettext_noop("Access"), ("User", "Group", "ApiKey", "Scope", "WebhookEndpoint", "WebhookDelivery")),
)


class AgentsAdminSite(AdminSite):
    """The product's admin. Login, logout and change of password are pages of the product where it has them."""

    site_header = "Turnlog"
    site_title = gettext_lazy("Admin")
    index_title = gettext_lazy("Admin")
    empty_value_display = "–"

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not is_installed("identity"):
            return super().login(request, extra_context)
        target = request.GET.get("next") or reverse("admin:index", current_app=self.name)
        if request.method == "GET" and self.has_permission(request):
            return redirect("admin:index")
        return redirect(f"{settings.LOGIN_URL}?{urlencode({'next': target})}")

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if not is_installed("identity"):
            return super().logout(request, extra_context)
        return redirect(settings.LOGIN_REDIRECT_URL)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if not is_installed("identity"):
            return super().password_change(request, extra_context)
        return redirect("account-password")

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The tables in groups; with ``app_label`` that app as Django lists it."""
        apps = super().get_app_list(request, app_label)
        if app_label is not None:
            return apps
        models = {entry["object_name"]: entry for app in apps for entry in app["models"]}
        return [
            {**_group(label, name), "models": [models[model] for model in names if model in models]}
            for label, name, names in _GROUPS
            if any(model in models for model in names)
        ]


def _group(label: str, name: str) -> dict[str, Any]:
    return {"name": gettext(name), "app_label": label, "app_url": reverse("admin:index"), "has_module_perms": True}
