"""The tables of budgets, and of what counts against them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.base.models.fields import KeyField, MomentField, ShortText
from agents.base.models.people import ApiKey, User
from agents.base.models.scoped import Scoped
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import BudgetPeriod, BudgetTarget


class Budget(Scoped):
    """A limit of dollars (billionths: ``limit_nano``), of tokens, or of both; one without a limit only counts. The
    column of its ``target`` says whose; ``window_us`` is set for windows alone. ``is_spend_control`` marks the one that
    OpenAI's Agents API sets for a session."""

    id = KeyField()
    name = ShortText(max_length=200, blank=True)
    target = models.SmallIntegerField(choices=BudgetTarget.choices)
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    api_key = models.ForeignKey(
        ApiKey, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    agent = models.ForeignKey(Agent, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    session = models.ForeignKey(
        Session, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    period = models.SmallIntegerField(choices=BudgetPeriod.choices)
    window_us = models.BigIntegerField(null=True, blank=True)
    limit_nano = models.BigIntegerField(null=True, blank=True)
    limit_tokens = models.BigIntegerField(null=True, blank=True)
    is_spend_control = models.BooleanField(default=False)
    created_at = MomentField()
    updated_at = MomentField()

    class Meta(Scoped.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["session"], name="budget_spend_control", condition=Q(is_spend_control=True)
            ),
        ]
        indexes = [
            # those that an inference has to keep to, and the cascade of a deletion
            models.Index(fields=["user", "id"], name="budget_user", condition=Q(user__isnull=False)),
            models.Index(fields=["api_key", "id"], name="budget_api_key", condition=Q(api_key__isnull=False)),
            models.Index(fields=["agent", "id"], name="budget_agent", condition=Q(agent__isnull=False)),
            models.Index(fields=["session", "id"], name="budget_session", condition=Q(session__isnull=False)),
            # the kinds of target that there are budgets of
            models.Index(fields=["target", "id"], name="budget_target"),
        ]

    def __str__(self) -> str:
        return self.name or f"budget {self.id}"


class BudgetSpend(models.Model):
    """What was spent of a budget in a part of its time, which ends at ``until`` (microseconds; 0 for a budget without
    a window). ``stripe`` is the process that counted it: processes that add to one row would wait for one another."""

    budget = models.ForeignKey(Budget, on_delete=models.CASCADE, related_name="spends", db_index=False)
    until = models.BigIntegerField()
    stripe = models.BigIntegerField()
    cost_nano = models.BigIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            # the parts of a budget's time in order
            models.UniqueConstraint(fields=["budget", "until", "stripe"], name="budget_spend_part"),
        ]

    def __str__(self) -> str:
        return f"{self.tokens} tokens of budget {self.budget_id}"
