"""Forms of the admin whose values have rules of their own: an agent's configuration, a group's
attributes. They end as the same types the API reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from agents.base.access import Actor, attributes_of
from agents.base.errors import InvalidRequest, Unavailable
from agents.base.models.people import GroupAttributes
from agents.base.schemas.wire import JSON
from agents.llama_stack.schemas import AgentConfig
from agents.loop.current_service import service
from agents.loop.prepare import check_config
from agents.record.models.agents import Agent

if TYPE_CHECKING:
    _AgentForm = forms.ModelForm[Agent]
    _AttributesForm = forms.ModelForm[GroupAttributes]
else:  # generic in the stubs only
    _AgentForm = _AttributesForm = forms.ModelForm

DEPTH = 64
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class JsonField(forms.CharField):
    """JSON as text, read as strictly as the API reads it: no NaN, no NUL, no bottomless nesting. Empty
    is None."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("widget", AdminTextareaWidget(attrs={"rows": 5, "class": "vLargeTextField mono"}))
        super().__init__(required=False, **options)

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        if _NUL.search(text):
            raise forms.ValidationError(_("NUL characters cannot be stored."), code="nul")
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise forms.ValidationError(_("This is not JSON: %(error)s") % {"error": error}, code="json") from error
        if not _within(found, DEPTH):
            raise forms.ValidationError(_("Nested deeper than %(depth)s levels.") % {"depth": DEPTH}, code="depth")
        return found

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(data) != initial)
        except forms.ValidationError:
            return True


def _within(value: JSON, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_within(one, levels - 1) for one in inner)


class LinesField(forms.CharField):
    """Names, one a line, as a list."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, widget=AdminTextareaWidget(attrs={"rows": 2}), **options)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = (super().to_python(value) or "").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


class AgentForm(_AgentForm):
    """An agent's configuration. What is left empty is the default; ``config`` is the result, made
    by ``actor``."""

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
        help_text=gettext_lazy("Inferences in one turn at most, 1 to 1,000; 10 if empty."),
    )
    enable_session_persistence = forms.BooleanField(
        required=False,
        label=gettext_lazy("Sessions persist"),
        help_text=gettext_lazy("Without it a session may be deleted a day after it was made."),
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
    input_shields = LinesField(help_text=gettext_lazy("Shields for what is asked, one a line."))
    output_shields = LinesField(help_text=gettext_lazy("Shields for what is answered, one a line."))
    sampling_params = JsonField(
        label=gettext_lazy("Sampling"),
        help_text=gettext_lazy('{"strategy": {"type": "top_p", "temperature": 0.7}, "max_tokens": 512}'),
    )
    response_format = JsonField(help_text=gettext_lazy('{"type": "json_schema", "json_schema": {…}}'))

    class Meta:
        model = Agent
        fields: tuple[str, ...] = ()

    config: AgentConfig

    def __init__(self, *args: Any, **options: Any) -> None:
        instance = options.get("instance")
        if instance is not None and instance.revision is not None:
            kept = AgentConfig.model_validate_json(instance.revision.config)
            values = kept.model_dump(mode="json", exclude_defaults=True)
            options["initial"] = {name: value for name, value in values.items() if value != {}}
        super().__init__(*args, **options)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        given = {name: value for name, value in cleaned.items() if value not in (None, [], {})}
        given["name"] = cleaned["name"] or None
        try:
            self.config = AgentConfig.model_validate(given)
        except ValidationError as error:
            self._explain(error)
        else:
            self._check_names()
        return cleaned

    def _explain(self, error: ValidationError) -> None:
        """Each mistake at its field, with the place inside it."""
        for one in error.errors(include_url=False, include_input=False, include_context=False):
            field, *inside = [str(part) for part in one["loc"]] or [""]
            place = f"{'.'.join(inside)}: " if inside else ""
            self.add_error(field if field in self.fields else None, f"{place}{one['msg']}")

    def _check_names(self) -> None:
        """What it names must exist; known only where the server runs."""
        try:
            check_config(service().providers, self.actor, self.config)
        except Unavailable:
            return
        except InvalidRequest as error:
            param = "tool_config" if error.param == "tool_choice" else error.param
            self.add_error(param if param in self.fields else None, error.message)


class AttributesForm(_AttributesForm):
    """What a group gives its members."""

    attributes = JsonField(
        help_text=gettext_lazy('{"roles": ["admin"], "teams": ["support"], "projects": […], "namespaces": […]}')
    )

    class Meta:
        model = GroupAttributes
        fields = ("attributes",)

    def clean_attributes(self) -> dict[str, list[str]]:
        value = self.cleaned_data["attributes"]
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise forms.ValidationError(_("A JSON object is needed, with lists of texts."))
        try:
            found = attributes_of(value)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        return {category: sorted(values) for category, values in found.items()}
