"""The form of shields. It ends as the same values that
the API registers, checked by the same rules, with each mistake at its field."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from agents.base.store.registered import Registration
from agents.loop.current_service import service
from agents.loop.protocols.shields import ShieldSpec
from agents.safety import shields
from agents.safety.models import Shield
from agents.safety.providers.registry import PROVIDERS
from agents.safety.schemas import RegisterShield
from agents.safety.store import registered_shields
from agents.uikit.admin.fields import JsonField
from agents.uikit.admin.named_forms import NamedForm, read_body, text_field

# -------------------------------------------------------------------------------------------- tools


# ------------------------------------------------------------------------------------------ shields


class ShieldForm(NamedForm):
    """A shield. ``registration`` is the result."""

    identifier = text_field(gettext_lazy("Name"), length=300, help_text=gettext_lazy("The name that agents use."))
    provider = forms.ChoiceField(choices=[(name, name) for name in PROVIDERS])
    resource = text_field(
        gettext_lazy("Model"),
        length=300,
        required=False,
        help_text=gettext_lazy("What llama-guard and moderation look with, as endpoint/model."),
    )
    params = JsonField(
        label=gettext_lazy("Parameters"),
        help_text=gettext_lazy(
            'rules: {"rules": [{"name": "…", "keywords": ["…"], "level": "warn"}]}; scripted: {"phrases": ["…"]}; '
            'llama-guard, moderation: {"excluded_categories": ["…"]}'
        ),
    )

    class Meta:
        model = Shield
        fields: tuple[str, ...] = ()

    field_names = {
        "shield_id": "identifier",
        "provider_id": "provider",
        "provider_shield_id": "resource",
        "params": "params",
    }
    registration: Registration

    def check(self, cleaned: dict[str, Any]) -> None:
        values = {"shield_id": cleaned.get("identifier") or self.instance.identifier, "params": cleaned["params"]}
        values |= {"provider_id": cleaned["provider"], "provider_shield_id": cleaned["resource"]}
        body = read_body(RegisterShield, values)
        new = Registration(body.shield_id, body.provider_id, body.provider_shield_id, body.params)
        shields.check_new(service().providers, ShieldSpec(new.identifier, new.provider, new.resource, dict(new.params)))
        if self.is_new and registered_shields.find(self.actor, new.identifier):
            raise self._name_conflict("shield_id")
        self.registration = new


# ------------------------------------------------------------------------------------------- models
