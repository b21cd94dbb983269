"""Shields: made, changed and deleted by the store."""

from __future__ import annotations

from django.contrib import admin

from agents.base.ids import Kind
from agents.safety.admin_forms import ShieldForm
from agents.safety.models import Shield
from agents.safety.store import registered_shields
from agents.uikit.admin.registered import ACCESS, RegisteredAdmin


@admin.register(Shield)
class ShieldAdmin(RegisteredAdmin):
    """Shields registered over the API or here; those of the settings are not listed."""

    kind = Kind.SHIELD
    id_columns = {Kind.SHIELD: "pk"}
    registry = registered_shields
    form = ShieldForm
    fieldsets = ((None, {"fields": ("identifier", "provider", "resource", "params")}),)
    read_fieldsets = (
        (None, {"fields": ("title", "by_provider", "called_there", "params_text")}),
        ACCESS,
    )
