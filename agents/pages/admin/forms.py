"""The form of an agent's configuration; it produces the type that the API reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, Unavailable
from agents.loop.current_service import service
from agents.loop.prepare import check_config
from agents.record.models.agents import Agent
from agents.record.schemas.agents import AgentConfig
from agents.uikit.admin.fields import JsonField, LinesField

if TYPE_CHECKING:
    _AgentForm = forms.ModelForm[Agent]
else:  # generic in the stubs only
    _AgentForm = forms.ModelForm


class AgentForm(_AgentForm):
    """An agent's configuration, edited by ``actor``. An empty field means the default; ``config`` is the
    result."""

    actor: Actor

    name = forms.CharField(required=False, max_length=300, widget=AdminTextInputWidget)
    model = forms.CharField(
        max_length=300,
        widget=AdminTextInputWidget,
        help_text=gettext_lazy("demo is built in; endpoint/model names one of a configured endpoint."),
    )
    instructions = forms.CharField(
        required=False, strip=False, widget=AdminTextareaWidget(attrs={"rows": 10, "class": "vLargeTextField"})
    )
    max_infer_iters = forms.IntegerField(
        required=False,
        label=gettext_lazy("Iterations"),
        help_text=gettext_lazy("Max inferences per turn, 1 to 1,000. Default: 10."),
    )
    enable_session_persistence = forms.BooleanField(
        required=False,
        label=gettext_lazy("Sessions persist"),
        help_text=gettext_lazy("Without it a session may be deleted a day after it was made."),
    )
    resume_runs = forms.NullBooleanField(
        label=gettext_lazy("Turns go on"),
        help_text=gettext_lazy(
            "When their process is lost; if not, they end as interrupted. Unknown: as RESUME_RUNS says."
        ),
    )
    toolgroups = JsonField(
        help_text=gettext_lazy('A list of groups of the server\'s tools: ["demo"], or [{"name": "…", "args": {}}].')
    )
    client_tools = JsonField(
        help_text=gettext_lazy(
            'A list of tools the client runs: [{"name": "…", "description": "…", "input_schema": {…}}].'
        )
    )
    tool_config = JsonField(help_text=gettext_lazy('{"tool_choice": "auto"}, or required, none, the name of a tool.'))
    input_shields = LinesField(help_text=gettext_lazy("Input shields, one per line."))
    output_shields = LinesField(help_text=gettext_lazy("Output shields, one per line."))
    sampling_params = JsonField(
        label=gettext_lazy("Sampling"),
        help_text=gettext_lazy('{"strategy": {"type": "top_p", "temperature": 0.7}, "max_tokens": 512}'),
    )
    response_format = JsonField(help_text=gettext_lazy('{"type": "json_schema", "json_schema": {…}}'))
    openai = JsonField(
        label=gettext_lazy("OpenAI"),
        help_text=gettext_lazy(
            "What only OpenAI's Agents API can say: MCP servers, the effort of reasoning, metadata."
        ),
    )

    class Meta:
        model = Agent
        fields: tuple[str, ...] = ()

    config: AgentConfig

    def __init__(self, *args: Any, **options: Any) -> None:
        instance = options.get("instance")
        if instance is not None and instance.revision is not None:
            stored = AgentConfig.model_validate_json(instance.revision.config)
            values = stored.model_dump(mode="json", exclude_defaults=True)
            options["initial"] = {name: value for name, value in values.items() if value != {}}
        super().__init__(*args, **options)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        values = {name: value for name, value in cleaned.items() if value not in (None, [], {})}
        values["name"] = cleaned["name"] or None
        try:
            self.config = AgentConfig.model_validate(values)
        except ValidationError as error:
            self._explain(error)
        else:
            self._check_names()
        return cleaned

    def _explain(self, error: ValidationError) -> None:
        """Add each validation error to its field, with the path inside it."""
        for mistake in error.errors(include_url=False, include_input=False, include_context=False):
            field, *inside = [str(part) for part in mistake["loc"]] or [""]
            path = f"{'.'.join(inside)}: " if inside else ""
            self.add_error(field if field in self.fields else None, f"{path}{mistake['msg']}")

    def _check_names(self) -> None:
        """Check that tools and shields exist; only a running server knows them."""
        try:
            check_config(service().providers, self.actor, self.config)
        except Unavailable:
            return
        except InvalidRequest as error:
            param = "tool_config" if error.param == "tool_choice" else error.param
            self.add_error(param if param in self.fields else None, error.message)
