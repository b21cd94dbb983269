"""The table of turns that sub-agents run for other turns."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.base.models.scoped import TurnScopedQuerySet
from agents.record.models.references import PlainReference
from agents.record.models.turns import Step, Turn


class AgentCall(models.Model):
    """A turn of a sub-agent, with the call that it answers: the ``parent`` turn, and ``step_id`` in it, which no two
    turns answer. ``root_id`` is the turn at the top of the tree, which nobody called, ``depth`` the number of calls
    below it, and ``levels_left`` how many more may follow below this one. They are plain numbers: a step may have been
    deleted."""

    turn = models.OneToOneField(Turn, primary_key=True, on_delete=models.CASCADE, related_name="agent_call")
    parent = models.ForeignKey(
        Turn, null=True, blank=True, on_delete=models.SET_NULL, related_name="agent_calls", db_index=False
    )
    step_id = PlainReference(Step, models.DO_NOTHING)
    root_id = PlainReference(Turn, models.DO_NOTHING)
    depth = models.SmallIntegerField()
    levels_left = models.SmallIntegerField()

    objects = TurnScopedQuerySet.as_manager()
    all_objects = models.Manager()

    class Meta:
        base_manager_name = "all_objects"
        constraints = [
            # a call that is made again finds its turn
            models.UniqueConstraint(fields=["step_id"], name="agent_call_step"),
        ]
        indexes = [
            # the turns that a turn has called
            models.Index(fields=["parent"], name="agent_call_parent", condition=Q(parent__isnull=False)),
            # a whole tree
            models.Index(fields=["root_id"], name="agent_call_root"),
        ]

    def __str__(self) -> str:
        return f"called at depth {self.depth}"
