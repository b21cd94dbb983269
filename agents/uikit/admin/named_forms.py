"""Forms of records that are registered under a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from agents.base.access import Actor
from agents.base.api.negotiation import invalid
from agents.base.errors import Conflict, InvalidRequest, Unavailable

if TYPE_CHECKING:
    _Form = forms.ModelForm[Any]
else:  # generic in the stubs only
    _Form = forms.ModelForm


Body = TypeVar("Body", bound=BaseModel)


def text_field(label: Any, *, length: int, help_text: Any = "", required: bool = True) -> forms.CharField:
    return forms.CharField(
        label=label, max_length=length, required=required, widget=AdminTextInputWidget, help_text=help_text
    )


class NamedForm(_Form):
    """The form of a registered record; subclasses turn its fields into what ``actor`` registers."""

    actor: Actor
    field_names: ClassVar[Mapping[str, str]] = {}
    """The form's field by the API's name of it."""

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
        """Validate the fields together. Raises InvalidRequest, Conflict."""
        raise NotImplementedError  # abstract: each form says its own (the metaclass of forms leaves no room for ABC)

    def _explain(self, error: InvalidRequest | Conflict) -> None:
        """Add an error to its field, without the API's name in the message."""
        param, dot, inside = (error.param or "").partition(".")
        field = self.field_names.get(error.param or "") or self.field_names.get(param)
        message = error.message.removeprefix(f"{error.param}: ").removeprefix(f"{param}: ")
        self.add_error(field, f"{inside}: {message}" if dot and field != "headers" else message)

    @property
    def is_new(self) -> bool:
        return bool(self.instance._state.adding)

    def _name_conflict(self, param: str) -> Conflict:
        return Conflict(_("This name is registered already; change that one, or take another."), param=param)


def read_body(body: type[Body], values: Mapping[str, Any]) -> Body:
    """Validate a request's body. Raises InvalidRequest naming the field."""
    try:
        return body.model_validate({name: value for name, value in values.items() if value not in (None, "")})
    except ValidationError as error:
        raise invalid(error) from error
