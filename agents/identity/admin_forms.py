"""The form of a group's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.base.access import attributes_of
from agents.base.models.people import GroupAttributes
from agents.uikit.admin.fields import JsonField

if TYPE_CHECKING:
    _AttributesForm = forms.ModelForm[GroupAttributes]
else:  # generic in the stubs only
    _AttributesForm = forms.ModelForm


class AttributesForm(_AttributesForm):
    """Edits the attributes that a group gives its members, as JSON."""

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
            raise forms.ValidationError(_("A JSON object with lists of texts is required."))
        try:
            attributes = attributes_of(value)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        return {category: sorted(values) for category, values in attributes.items()}
