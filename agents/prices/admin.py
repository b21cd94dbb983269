"""The admin of prices. Prices are added, and never changed: a newer one follows, or says that the price has ended."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from agents.base import ids
from agents.base.errors import AgentsError
from agents.prices.admin_forms import PriceForm, PriceImportForm
from agents.prices.store import prices as pricing
from agents.record.models.prices import Price
from agents.record.store import costs
from agents.uikit import format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ModelAdmin, ReadAdmin
from agents.uikit.admin.current_actor import actor_of

EXAMPLE = """[
  {"model": "gpt-4.1-mini", "from": "2026-01-01T00:00:00Z", "input": 0.40, "cached": 0.10, "output": 1.60},
  {"model": "llama-*", "input": 0.10, "output": 0.30},
  {"model": "old-model", "closes": true}
]"""


@admin.register(Price)
class PriceAdmin(ReadAdmin):
    """Adds prices only: a step keeps its price, so a new price is a new row."""

    form = PriceForm
    change_list_template = "admin/agents/price_list.html"
    fields = ("model", "starts", "input_price", "cached_price", "output_price", "reasoning_price", "closes")
    list_display = ("model", "begins", "state", "input_cost", "cached_cost", "output_cost", "reasoning_cost")
    list_display_links = None
    search_fields = ("model",)
    search_help_text = _("A part of the model's name.")
    ordering = ("model", "-starts_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return ModelAdmin.has_add_permission(self, request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.list_display if obj else self.fields

    def save_model(self, request: HttpRequest, obj: Price, form: Any, change: bool) -> None:
        obj.save(force_insert=True)
        transaction.on_commit(costs.forget)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("import/", wrap(self.import_view), name="agents_price_import"),
            path("apply/", wrap(require_POST(self.apply_view)), name="agents_price_apply"),
        ]
        return [*own, *super().get_urls()]

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Import a list of prices."""
        self._may_add(request)
        form = PriceImportForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            try:
                result = pricing.add(form.cleaned_data["prices"])
            except AgentsError as error:
                form.add_error(None, error.message)
            else:
                message = _now("%(added)s prices added, %(known)s were already known.") % {
                    "added": result.added,
                    "known": result.known,
                }
                messages.success(request, message)
                return redirect("admin:agents_price_changelist")
        context = {**self.admin_site.each_context(request), "opts": self.opts, "form": form, "example": EXAMPLE}
        return render(request, "admin/agents/price_import.html", {**context, "title": _now("Import prices")})

    def apply_view(self, request: HttpRequest) -> HttpResponse:
        """Price the steps that ended before their model had a price."""
        self._may_add(request)
        try:
            result = pricing.price_unpriced(actor_of(request))
        except AgentsError as error:
            messages.error(request, error.message)
        else:
            message = _now("%(priced)s steps priced; %(left)s have no price.")
            messages.success(request, message % {"priced": result.priced, "left": result.left})
        return redirect("admin:agents_price_changelist")

    def _may_add(self, request: HttpRequest) -> None:
        if not self.has_add_permission(request):
            raise PermissionDenied

    @admin.display(description=_("from"))
    def begins(self, price: Price) -> str:
        return cell_html.timestamp(price.starts_at)

    @admin.display(description=_("state"))
    def state(self, price: Price) -> str:
        """The state of the price that is in force; the other prices of a model have none."""
        if price.pk not in costs.current(ids.now_us()):
            return cell_html.NOTHING
        return (
            cell_html.state("cancelled", _now("ended"))
            if price.closes
            else cell_html.state("completed", _now("current"))
        )

    @admin.display(description=_("input, per million tokens"))
    def input_cost(self, price: Price) -> str:
        return _dollars(None if price.closes else price.input_nano)

    @admin.display(description=_("cached input"))
    def cached_cost(self, price: Price) -> str:
        return _dollars(price.cached_nano)

    @admin.display(description=_("output"))
    def output_cost(self, price: Price) -> str:
        return _dollars(None if price.closes else price.output_nano)

    @admin.display(description=_("reasoning"))
    def reasoning_cost(self, price: Price) -> str:
        return _dollars(price.reasoning_nano)


def _dollars(nano: int | None) -> str:
    """Billionths of a dollar per token as dollars per million tokens."""
    return cell_html.NOTHING if nano is None else format.dollars(nano / 1000, 3)
