"""The app's configuration: hands settings down to what must not read them, and lets subjects join."""

from __future__ import annotations

from typing import cast

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib.admin.apps import SimpleAdminConfig

from agents.base import access, ids
from agents.server import checks


class AgentsConfig(AppConfig):
    name = "agents"
    default = True  # the other configuration this module knows is only a type
    verbose_name = "Agents"

    def ready(self) -> None:
        ids.configure(settings.ID_SECRET)
        from agents.base.store import scopes  # models can be imported only now
        from agents.server import subjects

        access.use_scopes(scopes.all_scopes)
        subjects.install()
        subjects.hide_commands()
        checks.register_all()
        # before the admin looks for what is registered with it, as its app comes after this one
        admin = cast(SimpleAdminConfig, apps.get_app_config("admin"))
        admin.default_site = "agents.uikit.admin.site.AgentsAdminSite"
