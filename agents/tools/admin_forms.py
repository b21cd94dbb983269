"""The form of tool groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.base.errors import InvalidRequest
from agents.base.run_sync import run_on_loop
from agents.loop.current_service import service
from agents.tools import store as stored_groups
from agents.tools.models import ToolGroup
from agents.tools.providers import mcp
from agents.tools.runner import toolgroups
from agents.tools.schemas import RegisterToolGroup
from agents.tools.store import NewGroup
from agents.uikit.admin.fields import JsonField
from agents.uikit.admin.named_forms import NamedForm, read_body, text_field


class ToolGroupForm(NamedForm):
    """A server of tools. ``group`` is the result. Headers that are stored are never shown: what is
    left empty keeps them, as long as the URL stays, which they were given for."""

    name = text_field(
        gettext_lazy("Name"), length=200, help_text=gettext_lazy("The name that agents use, such as mcp::orders.")
    )
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

    field_names = {
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
            self._stored = stored_groups.record_of(instance)
        super().__init__(*args, **options)

    def check(self, cleaned: dict[str, Any]) -> None:
        name = cleaned["name"] if self.is_new else self._stored.name
        values = {"toolgroup_id": name, "provider_id": cleaned["provider_id"], "args": cleaned["args"]}
        body = read_body(RegisterToolGroup, {**values, "mcp_endpoint": {"uri": cleaned["uri"]}})
        providers = service().providers
        args = {**body.args, "headers": self._headers(cleaned, body.args)}
        group = toolgroups.check_new(providers, body.toolgroup_id, body.provider_id, cleaned["uri"], args)
        assert group is not None  # it has a URL
        self._check_url(group.uri)
        if self.is_new and stored_groups.find(self.actor, group.name):
            raise self._name_conflict("toolgroup_id")
        self.group = group

    def _headers(self, cleaned: dict[str, Any], args: Mapping[str, Any]) -> Any:
        """Those that are given; else those that are stored. A secret is for its URL alone: who may not
        read it must not be able to send it elsewhere."""
        if cleaned["headers"] is not None:
            return cleaned["headers"]
        if self.is_new or "headers" in args:
            return args.get("headers")
        if self._stored.headers and cleaned["uri"] != self._stored.uri:
            message = _("The headers that are stored are for the former URL: give those for this one, or {} for none.")
            raise InvalidRequest(message, param="args.headers")
        return dict(self._stored.headers)

    def _check_url(self, uri: str) -> None:
        try:
            run_on_loop(service().providers.part(mcp.McpClient).check(uri))
        except InvalidRequest as error:
            raise InvalidRequest(error.message, param="mcp_endpoint") from error
