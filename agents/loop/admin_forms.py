"""The form of models under other names."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.base.errors import InvalidRequest, Unavailable
from agents.base.store.registered import Registration
from agents.loop import model_names
from agents.loop.current_service import service
from agents.loop.models import RegisteredModel
from agents.loop.schemas.models import RegisterModel
from agents.loop.store.registered_models import registered_models
from agents.uikit.admin.fields import JsonField
from agents.uikit.admin.named_forms import NamedForm, read_body, text_field

_KINDS = [("llm", gettext_lazy("language model")), ("embedding", gettext_lazy("embeddings"))]


class RegisteredModelForm(NamedForm):
    """Another name for an endpoint's model. ``registration`` is the result."""

    identifier = text_field(gettext_lazy("Name"), length=300, help_text=gettext_lazy("The name that agents use."))
    provider = forms.ChoiceField(label=gettext_lazy("Endpoint"))
    resource = text_field(
        gettext_lazy("Model"),
        length=300,
        required=False,
        help_text=gettext_lazy("The endpoint's name for it; the same name if empty."),
    )
    model_type = forms.ChoiceField(label=gettext_lazy("Kind"), choices=_KINDS)
    metadata = JsonField(help_text=gettext_lazy('{"embedding_dimension": 384}'))

    class Meta:
        model = RegisteredModel
        fields: tuple[str, ...] = ()

    field_names = {
        "model_id": "identifier",
        "provider_id": "provider",
        "provider_model_id": "resource",
        "model_type": "model_type",
        "metadata": "metadata",
    }
    registration: Registration

    def __init__(self, *args: Any, **options: Any) -> None:
        instance = options.get("instance")
        provider = str(instance.provider) if instance is not None else ""
        if instance is not None and provider:
            params = instance.params
            initial = {"model_type": params.get("model_type") or "llm", "metadata": params.get("metadata") or None}
            options["initial"] = initial
        super().__init__(*args, **options)
        field: Any = self.fields["provider"]
        field.choices = [(name, name) for name in dict.fromkeys([*_endpoints(), *([provider] if provider else ())])]

    def check(self, cleaned: dict[str, Any]) -> None:
        providers = service().providers
        values = {"model_id": cleaned.get("identifier") or self.instance.identifier, "metadata": cleaned["metadata"]}
        values |= {"provider_id": cleaned["provider"], "provider_model_id": cleaned["resource"]}
        new = model_names.registration(
            providers, read_body(RegisterModel, {**values, "model_type": cleaned["model_type"]})
        )
        model_names.check_new(providers, new)
        if providers.endpoints.is_qualified(new.identifier):
            raise InvalidRequest(_("This is the endpoint's own name for it: it needs no other."), param="model_id")
        if self.is_new and registered_models.find(self.actor, new.identifier):
            raise self._name_conflict("model_id")
        self.registration = new


def _endpoints() -> list[str]:
    """The names of the endpoints, the default one first; none where no server runs."""
    try:
        endpoints = service().providers.endpoints
    except Unavailable:
        return []
    return list(dict.fromkeys([endpoints.default, *endpoints.names]))
