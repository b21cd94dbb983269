"""The table of turns that another agent goes on with."""

from __future__ import annotations

from django.db import models

from agents.base.models.scoped import TurnScopedQuerySet
from agents.record.models.agents import Agent, AgentRevision
from agents.record.models.references import PlainReference
from agents.record.models.turns import Step, Turn


class HandOver(models.Model):
    """A call after which another agent, with the configuration of a revision, goes on with its turn: with the steps
    after the one of this ``number``. Step, agent and revision are plain numbers: they may have been deleted."""

    step_id = PlainReference(Step, models.DO_NOTHING, primary_key=True)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="hand_overs", db_index=False)
    number = models.IntegerField()
    agent_id = PlainReference(Agent, models.DO_NOTHING)
    revision_id = PlainReference(AgentRevision, models.DO_NOTHING)

    objects = TurnScopedQuerySet.as_manager()
    all_objects = models.Manager()

    class Meta:
        base_manager_name = "all_objects"
        indexes = [models.Index(fields=["turn", "number"], name="hand_over_turn")]

    def __str__(self) -> str:
        return f"handed over at step {self.number}"
