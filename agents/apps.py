"""The app's configuration: hands settings down to the rooms that must not read them."""

from __future__ import annotations

from django.apps import AppConfig, apps
from django.conf import settings

from agents.base import access, ids
from agents.server import checks


class AgentsConfig(AppConfig):
    name = "agents"
    verbose_name = "Agents"

    def ready(self) -> None:
        ids.configure(settings.ID_SECRET)
        from agents.base.store import scopes  # models can be imported only now

        access.use_scopes(scopes.all_scopes)
        checks.register_all()
        # before the admin looks for what is registered with it, as its app comes after this one
        apps.get_app_config("admin").default_site = "agents.uikit.admin.site.AgentsAdminSite"  # type: ignore[attr-defined]  # of the admin's config
