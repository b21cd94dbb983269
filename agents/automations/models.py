"""The tables of automations, and of what became of each time that has come."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.scoped import Scoped
from agents.record.models.agents import Session
from agents.record.models.references import PlainReference
from agents.record.models.turns import Turn


class Automation(Scoped):
    """What its owner wants to be said to an agent at set times: at those of a cron ``expression`` in a ``timezone``, or
    once, at ``run_at``. ``target`` is JSON (`agents.automations.schemas.records`), ``target_session`` the session that
    is gone on with, if one is. It is due at ``next_at``, and at rest where that is null: ``paused_at`` says since
    when, unless it has done all it had to. It acts for its owner, as ``actor_*`` say, as in a response."""

    id = KeyField()
    name = ShortText(max_length=200)
    expression = ShortText(max_length=200, blank=True)
    timezone = ShortText(max_length=80, blank=True)
    run_at = MomentField(null=True, blank=True)
    target = LongText()
    target_session = models.BigIntegerField(null=True, blank=True)
    metadata = LongText(default="{}")
    actor_key = models.BigIntegerField(null=True, blank=True)
    actor_scope = models.BigIntegerField(null=True, blank=True)
    next_at = MomentField(null=True, blank=True)
    paused_at = MomentField(null=True, blank=True)
    pause_reason = models.CharField(max_length=40, blank=True)
    created_at = MomentField()
    updated_at = MomentField()

    class Meta(Scoped.Meta):
        indexes = [
            # one's own, newest first
            models.Index(fields=["owner", "id"], name="automation_owner"),
            # what is due
            models.Index(fields=["next_at"], name="automation_due", condition=Q(next_at__isnull=False)),
            # those that go on with a session
            models.Index(
                fields=["target_session", "id"], name="automation_session", condition=Q(target_session__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.name


class RunState(models.IntegerChoices):
    """A run is *queued* until its turn has begun, or cannot; one is *skipped* while the one before it is queued."""

    QUEUED = 1, "queued"
    COMPLETED = 2, "completed"
    FAILED = 3, "failed"
    SKIPPED = 4, "skipped"


class AutomationRun(models.Model):
    """One time of an automation that has come, or none (``scheduled_at`` is null) where someone has asked for it.
    ``snapshot`` is the automation as it was then, as JSON on the wire. ``session`` is the one it goes on with, or the
    key that its new one gets: who tries again finds that. A queued one is due at ``due_at``; whoever begins it sets
    that to the time at which others may, counts up ``attempts``, and is the process it is ``claimed_by``."""

    id = KeyField()
    automation = models.ForeignKey(Automation, on_delete=models.CASCADE, related_name="runs", db_index=False)
    scheduled_at = MomentField(null=True, blank=True)
    snapshot = LongText(blank=True)
    state = models.SmallIntegerField(choices=RunState.choices, default=RunState.QUEUED)
    session = PlainReference(Session, models.DO_NOTHING)
    turn = models.ForeignKey(Turn, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    error_code = models.CharField(max_length=64, blank=True)
    error = ShortText(max_length=500, blank=True)
    due_at = MomentField()
    attempts = models.IntegerField(default=0)
    claimed_by = models.CharField(max_length=32, blank=True)
    created_at = MomentField()
    ended_at = MomentField(null=True, blank=True)

    class Meta:
        verbose_name = "run of an automation"
        verbose_name_plural = "runs of automations"
        constraints = [
            # each time once, whoever notices that it has come
            models.UniqueConstraint(
                fields=["automation", "scheduled_at"],
                name="automation_run_once",
                condition=Q(scheduled_at__isnull=False),
            ),
        ]
        indexes = [
            # those of an automation, newest first, and their deletion
            models.Index(fields=["automation", "id"], name="automation_run_of"),
            # what is due
            models.Index(fields=["due_at"], name="automation_run_due", condition=Q(state=RunState.QUEUED)),
            # the deletion of a turn
            models.Index(fields=["turn"], name="automation_run_turn", condition=Q(turn__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"run {self.id}"
