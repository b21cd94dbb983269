"""The admin of retention: rules, what they would delete now, and receipts of what they have deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from agents.base import ids
from agents.base.errors import AgentsError
from agents.base.timestamps import to_datetime
from agents.logs.models.retention import RetentionReceipt, RetentionRule
from agents.logs.store import retention
from agents.uikit import format
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ModelAdmin, ReadAdmin
from agents.uikit.admin.current_actor import actor_of

if TYPE_CHECKING:
    _RuleForm = forms.ModelForm[RetentionRule]
else:  # generic in the stubs only
    _RuleForm = forms.ModelForm


_ACTIONS = {
    "": _("delete"),
    "jsonl": _("archive as JSON lines, then delete"),
    "parquet": _("archive as Parquet, then delete"),
}
"""What a rule does with its turns, by the format of their archive."""


class RetentionRuleForm(_RuleForm):
    """A rule. The folder of its files is chosen by who runs the server, with ``manage.py retention add``."""

    name = forms.CharField(label=_("Name"), max_length=100)
    query = forms.CharField(label=_("Query"), help_text=_("Of turns: agent:demo started:<-30d"))
    archives_as = forms.ChoiceField(
        label=_("What is done"),
        required=False,
        choices=list(_ACTIONS.items()),
    )
    enabled = forms.BooleanField(label=_("Enabled"), required=False, initial=True)

    class Meta:
        model = RetentionRule
        fields = ("name", "query", "archives_as", "enabled")

    def clean_query(self) -> str:
        try:
            return retention.parse(self.cleaned_data["query"]).text
        except AgentsError as error:
            raise forms.ValidationError(error.message) from error


@admin.register(RetentionRule)
class RetentionRuleAdmin(ReadAdmin):
    form = RetentionRuleForm
    list_display = ("name", "selects", "does", "is_enabled", "last_run")
    ordering = ("name",)
    actions = ("preview",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return ModelAdmin.has_add_permission(self, request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return ModelAdmin.has_change_permission(self, request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return ModelAdmin.has_delete_permission(self, request, obj)

    def save_model(self, request: HttpRequest, obj: RetentionRule, form: Any, change: bool) -> None:
        if not change:
            obj.created_at = to_datetime(ids.now_us())
        super().save_model(request, obj, form, change)

    @admin.action(permissions=["view"], description=_("Preview selected rules"))
    def preview(self, request: HttpRequest, rules: QuerySet[RetentionRule]) -> None:
        """Say what the rules would delete now."""
        for rule in rules:
            try:
                counts = retention.preview(actor_of(request), retention.parse(rule.query))
            except AgentsError as error:
                self.message_user(request, f"{rule.name}: {error.message}", messages.ERROR)
                continue
            words = _now(
                "Rule %(rule)s would delete now: turns %(turns)s, sessions with all that is inside %(sessions)s."
            )
            numbers = {"turns": format.integer(counts.turns), "sessions": format.integer(len(counts.sessions))}
            self.message_user(request, words % {"rule": rule.name, **numbers})

    @admin.display(description=_("query"))
    def selects(self, rule: RetentionRule) -> str:
        return cell_html.text_cell(rule.query)

    @admin.display(description=_("what is done"))
    def does(self, rule: RetentionRule) -> str:
        return str(_ACTIONS[rule.archives_as])

    @admin.display(description=_("enabled"), boolean=True)
    def is_enabled(self, rule: RetentionRule) -> bool:
        return rule.enabled

    @admin.display(description=_("last run"))
    def last_run(self, rule: RetentionRule) -> str:
        return cell_html.timestamp(rule.ran_at)


@admin.register(RetentionReceipt)
class RetentionReceiptAdmin(ReadAdmin):
    list_display = ("rule_name", "began", "finished", "deleted_turns", "deleted_sessions", "archive")
    fields = (*list_display, "selected", "size", "sha256")

    @admin.display(description=_("rule"))
    def rule_name(self, receipt: RetentionReceipt) -> str:
        return cell_html.text_cell(receipt.rule)

    @admin.display(description=_("query"))
    def selected(self, receipt: RetentionReceipt) -> str:
        return cell_html.text_cell(receipt.query)

    @admin.display(description=_("began"))
    def began(self, receipt: RetentionReceipt) -> str:
        return cell_html.timestamp(receipt.began_at)

    @admin.display(description=_("finished"))
    def finished(self, receipt: RetentionReceipt) -> str:
        return cell_html.timestamp(receipt.finished_at)

    @admin.display(description=_("turns"))
    def deleted_turns(self, receipt: RetentionReceipt) -> str:
        return format.integer(receipt.turns)

    @admin.display(description=_("sessions"))
    def deleted_sessions(self, receipt: RetentionReceipt) -> str:
        return format.integer(receipt.sessions)

    @admin.display(description=_("file"))
    def archive(self, receipt: RetentionReceipt) -> str:
        return cell_html.text_cell(receipt.file)

    @admin.display(description=_("bytes"))
    def size(self, receipt: RetentionReceipt) -> str:
        return format.integer(receipt.bytes)
