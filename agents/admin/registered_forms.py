"""Forms of what is used by a name: tool groups, shields, models. They end as the same values that
the API registers, checked by the same rules, with each mistake at its field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec
from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import BaseModel, ValidationError

from agents.base.access import Actor
from agents.base.api.negotiation import invalid
from agents.base.errors import Conflict, InvalidRequest, Unavailable
from agents.base.run_sync import waited
from agents.base.store import registered
from agents.base.store.registered import Registration
from agents.loop import model_names
from agents.loop.current_service import service
from agents.loop.protocols.shields import ShieldSpec
from agents.loop.schemas.models import RegisterModel
from agents.models.safety import RegisteredModel, Shield
from agents.pages.admin.forms import JsonField
from agents.safety import shields
from agents.safety.providers.registry import PROVIDERS
from agents.safety.schemas import RegisterShield
from agents.tools import store as stored_groups
from agents.tools.models import ToolGroup
from agents.tools.providers import mcp
from agents.tools.runner import toolgroups
from agents.tools.schemas import RegisterToolGroup
from agents.tools.store import NewGroup

if TYPE_CHECKING:
    _Form = forms.ModelForm[Any]
else:  # generic in the stubs only
    _Form = forms.ModelForm

Body = TypeVar("Body", bound=BaseModel)


def _text(label: Any, *, length: int, words: Any = "", required: bool = True) -> forms.CharField:
    return forms.CharField(
        label=label, max_length=length, required=required, widget=AdminTextInputWidget, help_text=words
    )


class NamedForm(_Form):
    """``actor`` registers it. Subclasses make of what was given what is stored."""

    actor: Actor
    places: ClassVar[Mapping[str, str]] = {}
    """The form's names for the fields of the API."""

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                self.check(cleaned)
            except Unavailable as error:
                self.add_error(None, error.message)
            except (InvalidRequest, Conflict) as error:
                self._explain(error)
        return cleaned

    def check(self, cleaned: dict[str, Any]) -> None:
        """Raises InvalidRequest, Conflict."""
        raise NotImplementedError  # abstract: each form says its own (the metaclass of forms leaves no room for ABC)

    def _explain(self, error: InvalidRequest | Conflict) -> None:
        """A mistake at its field, told without the API's name of that."""
        param, dot, inside = (error.param or "").partition(".")
        place = self.places.get(error.param or "") or self.places.get(param)
        words = error.message.removeprefix(f"{error.param}: ").removeprefix(f"{param}: ")
        self.add_error(place, f"{inside}: {words}" if dot and place != "headers" else words)

    @property
    def is_new(self) -> bool:
        return bool(self.instance._state.adding)

    def _taken(self, param: str) -> Conflict:
        return Conflict(_("This name is registered already; change that one, or take another."), param=param)


def _read(body: type[Body], given: Mapping[str, Any]) -> Body:
    """A request's body. Raises InvalidRequest naming the field."""
    try:
        return body.model_validate({name: value for name, value in given.items() if value not in (None, "")})
    except ValidationError as error:
        raise invalid(error) from error


# -------------------------------------------------------------------------------------------- tools


class ToolGroupForm(NamedForm):
    """A server of tools. ``group`` is the result. Headers that are stored are never shown: what is
    left empty keeps them, as long as the URL stays, which they were given for."""

    name = _text(gettext_lazy("Name"), length=200, words=gettext_lazy("What agents name it by, such as mcp::orders."))
    provider_id = forms.CharField(
        label=gettext_lazy("Provider"), max_length=100, initial=mcp.PROVIDER, widget=AdminTextInputWidget
    )
    uri = forms.CharField(
        label=gettext_lazy("Endpoint"),
        max_length=2000,
        widget=AdminTextInputWidget(attrs={"class": "vLargeTextField"}),
        help_text=gettext_lazy("The URL of the MCP server."),
    )
    args = JsonField(label=gettext_lazy("Arguments"), help_text=gettext_lazy('What its tools get: {"limit": 3}.'))
    headers = JsonField(
        help_text=gettext_lazy(
            'Sent to the server with every request: {"Authorization": "Bearer …"}. They are kept sealed and never '
            "shown again. Empty keeps those that are stored; {} removes them."
        )
    )

    class Meta:
        model = ToolGroup
        fields: tuple[str, ...] = ()

    places = {
        "toolgroup_id": "name",
        "provider_id": "provider_id",
        "mcp_endpoint": "uri",
        "args": "args",
        "args.headers": "headers",
    }
    group: NewGroup

    def __init__(self, *args: Any, **options: Any) -> None:
        instance = options.get("instance")
        if instance is not None and instance.pk:
            options["initial"] = {"args": msgspec.json.decode(instance.args or "{}") or None}
            self._stored = stored_groups.opened(instance)
        super().__init__(*args, **options)

    def check(self, cleaned: dict[str, Any]) -> None:
        name = cleaned["name"] if self.is_new else self._stored.name
        given = {"toolgroup_id": name, "provider_id": cleaned["provider_id"], "args": cleaned["args"]}
        body = _read(RegisterToolGroup, {**given, "mcp_endpoint": {"uri": cleaned["uri"]}})
        providers = service().providers
        args = {**body.args, "headers": self._headers(cleaned, body.args)}
        group = toolgroups.check_new(providers, body.toolgroup_id, body.provider_id, cleaned["uri"], args)
        assert group is not None  # it has a URL
        self._check_url(group.uri)
        if self.is_new and stored_groups.find(self.actor, group.name):
            raise self._taken("toolgroup_id")
        self.group = group

    def _headers(self, cleaned: dict[str, Any], args: Mapping[str, Any]) -> Any:
        """Those that are given; else those that are stored. A secret is for its URL alone: who may not
        read it must not be able to send it elsewhere."""
        if cleaned["headers"] is not None:
            return cleaned["headers"]
        if self.is_new or "headers" in args:
            return args.get("headers")
        if self._stored.headers and cleaned["uri"] != self._stored.uri:
            words = _("The headers that are stored are for the former URL: give those for this one, or {} for none.")
            raise InvalidRequest(words, param="args.headers")
        return dict(self._stored.headers)

    def _check_url(self, uri: str) -> None:
        try:
            waited(service().providers.mcp.check(uri))
        except InvalidRequest as error:
            raise InvalidRequest(error.message, param="mcp_endpoint") from error


# ------------------------------------------------------------------------------------------ shields


class ShieldForm(NamedForm):
    """A shield. ``registration`` is the result."""

    identifier = _text(gettext_lazy("Name"), length=300, words=gettext_lazy("What agents name it by."))
    provider = forms.ChoiceField(choices=[(name, name) for name in PROVIDERS])
    resource = _text(
        gettext_lazy("Model"),
        length=300,
        required=False,
        words=gettext_lazy("What llama-guard and moderation look with, as endpoint/model."),
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

    places = {
        "shield_id": "identifier",
        "provider_id": "provider",
        "provider_shield_id": "resource",
        "params": "params",
    }
    registration: Registration

    def check(self, cleaned: dict[str, Any]) -> None:
        given = {"shield_id": cleaned.get("identifier") or self.instance.identifier, "params": cleaned["params"]}
        given |= {"provider_id": cleaned["provider"], "provider_shield_id": cleaned["resource"]}
        body = _read(RegisterShield, given)
        new = Registration(body.shield_id, body.provider_id, body.provider_shield_id, body.params)
        shields.check_new(service().providers, ShieldSpec(new.identifier, new.provider, new.resource, dict(new.params)))
        if self.is_new and registered.shields.find(self.actor, new.identifier):
            raise self._taken("shield_id")
        self.registration = new


# ------------------------------------------------------------------------------------------- models

_KINDS = [("llm", gettext_lazy("language model")), ("embedding", gettext_lazy("embeddings"))]


class RegisteredModelForm(NamedForm):
    """Another name for an endpoint's model. ``registration`` is the result."""

    identifier = _text(gettext_lazy("Name"), length=300, words=gettext_lazy("What agents name it by."))
    provider = forms.ChoiceField(label=gettext_lazy("Endpoint"))
    resource = _text(
        gettext_lazy("Model"),
        length=300,
        required=False,
        words=gettext_lazy("As the endpoint calls it; the same name if empty."),
    )
    model_type = forms.ChoiceField(label=gettext_lazy("Kind"), choices=_KINDS)
    metadata = JsonField(help_text=gettext_lazy('{"embedding_dimension": 384}'))

    class Meta:
        model = RegisteredModel
        fields: tuple[str, ...] = ()

    places = {
        "model_id": "identifier",
        "provider_id": "provider",
        "provider_model_id": "resource",
        "model_type": "model_type",
        "metadata": "metadata",
    }
    registration: Registration

    def __init__(self, *args: Any, **options: Any) -> None:
        instance = options.get("instance")
        kept = str(instance.provider) if instance is not None else ""
        if instance is not None and kept:
            params = instance.params
            initial = {"model_type": params.get("model_type") or "llm", "metadata": params.get("metadata") or None}
            options["initial"] = initial
        super().__init__(*args, **options)
        field: Any = self.fields["provider"]
        field.choices = [(name, name) for name in dict.fromkeys([*_endpoints(), *([kept] if kept else ())])]

    def check(self, cleaned: dict[str, Any]) -> None:
        providers = service().providers
        given = {"model_id": cleaned.get("identifier") or self.instance.identifier, "metadata": cleaned["metadata"]}
        given |= {"provider_id": cleaned["provider"], "provider_model_id": cleaned["resource"]}
        new = model_names.registration(providers, _read(RegisterModel, {**given, "model_type": cleaned["model_type"]}))
        model_names.check_new(providers, new)
        if providers.endpoints.is_qualified(new.identifier):
            raise InvalidRequest(_("This is the endpoint's own name for it: it needs no other."), param="model_id")
        if self.is_new and registered.models.find(self.actor, new.identifier):
            raise self._taken("model_id")
        self.registration = new


def _endpoints() -> list[str]:
    """The names of the endpoints, the default one first; none where no server runs."""
    try:
        endpoints = service().providers.endpoints
    except Unavailable:
        return []
    return list(dict.fromkeys([endpoints.default, *endpoints.names]))
