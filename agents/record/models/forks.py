"""The table of forks, with the source of each."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.base.models.fields import LongText
from agents.base.models.scoped import TurnScopedQuerySet
from agents.record.models.agents import Session
from agents.record.models.references import PlainReference
from agents.record.models.turns import Step, Turn


class Fork(models.Model):
    """A turn that starts from a step of another, its ``source``, in the same session and beside it.
    ``session_id`` and ``step_id`` are plain numbers: the step may have been deleted. ``history_end`` is the number
    of the session's item before which the history of both ends. ``changes`` are the requested ones, as JSON,
    and ``settings`` those of its agent that differ from the revision's, its source's included; ``replays``
    says that tools take their results from the source where it made the same call."""

    turn = models.OneToOneField(Turn, primary_key=True, on_delete=models.CASCADE, related_name="fork")
    session_id = PlainReference(Session, models.DO_NOTHING)  # the row goes with its turn
    source = models.ForeignKey(
        Turn, null=True, blank=True, on_delete=models.SET_NULL, related_name="forks", db_index=False
    )
    step_id = PlainReference(Step, models.DO_NOTHING)
    step_number = models.IntegerField(help_text="order in the source, from 0")
    history_end = models.IntegerField()
    replays = models.BooleanField(default=True)
    changes = LongText(default="{}")
    settings = LongText(default="{}")

    objects = TurnScopedQuerySet.as_manager()
    all_objects = models.Manager()

    class Meta:
        base_manager_name = "all_objects"
        indexes = [
            # what is not on the path of a session
            models.Index(fields=["session_id"], name="fork_session"),
            # the forks of a turn
            models.Index(fields=["source"], name="fork_source", condition=Q(source__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"fork from step {self.step_number}"
