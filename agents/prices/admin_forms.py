"""The forms of the admin for one price, and for a list of prices as JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin.widgets import AdminSplitDateTime, AdminTextInputWidget
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import ValidationError

from agents.prices.schemas import PRICES
from agents.record.models.prices import Price

if TYPE_CHECKING:
    _PriceForm = forms.ModelForm[Price]
else:  # generic in the stubs only
    _PriceForm = forms.ModelForm

MAX_IMPORT_BYTES = 1024 * 1024
"""Bytes of a list of prices."""
NANO = Decimal(1000)
"""Dollars per million tokens × this = billionths of a dollar per token."""
_PER_MILLION = gettext_lazy("US dollars per million tokens.")


def _dollars(label: Any, required: bool = True) -> forms.DecimalField:
    return forms.DecimalField(
        label=label, required=required, min_value=0, max_value=1_000_000, decimal_places=3, help_text=_PER_MILLION
    )


class PriceForm(_PriceForm):
    """A price from a given time on, in dollars per million tokens."""

    model = forms.CharField(
        max_length=300,
        widget=AdminTextInputWidget,
        help_text=gettext_lazy("The model's name; a * at its end matches any ending."),
    )
    starts = forms.SplitDateTimeField(label=gettext_lazy("From"), widget=AdminSplitDateTime, help_text="UTC")
    input_price = _dollars(gettext_lazy("Input"), required=False)
    cached_price = _dollars(gettext_lazy("Cached input"), required=False)
    output_price = _dollars(gettext_lazy("Output"), required=False)
    reasoning_price = _dollars(gettext_lazy("Reasoning"), required=False)
    closes = forms.BooleanField(
        label=gettext_lazy("Ends"),
        required=False,
        help_text=gettext_lazy("From then on the price is not known, and neither is the cost of what is used."),
    )

    class Meta:
        model = Price
        fields = ("model",)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        self._check_amounts(cleaned)
        if self.errors:
            return cleaned
        if Price.objects.filter(model=cleaned["model"], starts_at=cleaned["starts"]).exists():
            self.add_error(
                "starts", _("This model has a price from that moment on; prices never change, so take a later one.")
            )
            return cleaned
        self.instance.starts_at = cleaned["starts"]
        self.instance.closes = cleaned["closes"]
        for name in ("input", "output", "cached", "reasoning"):
            amount = cleaned[f"{name}_price"]
            setattr(self.instance, f"{name}_nano", None if amount is None else int(amount * NANO))
        self.instance.input_nano = self.instance.input_nano or 0
        self.instance.output_nano = self.instance.output_nano or 0
        return cleaned

    def _check_amounts(self, cleaned: dict[str, Any]) -> None:
        """A price has amounts, its end has none."""
        filled = [name for name in self.fields if name.endswith("_price") and cleaned.get(name) is not None]
        if cleaned.get("closes"):
            for name in filled:
                self.add_error(name, _("The end of a price has no amounts."))
            return
        for name in ("input_price", "output_price"):
            if name not in filled and name not in self.errors:
                self.add_error(name, forms.ValidationError(_("This field is required."), code="required"))


class PriceImportForm(forms.Form):
    """A list of prices as JSON, as a file or as text."""

    text = forms.CharField(label=gettext_lazy("Prices"), required=False, widget=forms.Textarea(attrs={"rows": 12}))
    file = forms.FileField(label=gettext_lazy("Or a file"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        text, file = cleaned.get("text"), cleaned.get("file")
        if bool(text) == bool(file):
            raise forms.ValidationError(_("Give either a text or a file."))
        if file and file.size > MAX_IMPORT_BYTES:
            raise forms.ValidationError(_("This file is too large."))
        try:
            cleaned["prices"] = PRICES.validate_json(file.read() if file else str(text))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            location = ".".join(map(str, first["loc"]))
            raise forms.ValidationError(f"{location}: {first['msg']}" if location else first["msg"]) from error
        return cleaned
