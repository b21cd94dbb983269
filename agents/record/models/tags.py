"""The tables of tags: on turns, sessions and steps."""

from __future__ import annotations

from django.db import models

from agents.record.models.agents import Session
from agents.record.models.references import PlainReference
from agents.record.models.turns import Step, Turn


class SessionTag(models.Model):
    """A tag, or a ``key=value`` of the metadata, on a session. Plain numbers, as in `TurnTag`."""

    pk = models.CompositePrimaryKey("term_id", "session_id")
    term_id = models.BigIntegerField()
    session_id = PlainReference(Session, models.CASCADE)

    class Meta:
        indexes = [
            # the tags of the sessions of a page, and their deletion
            models.Index(fields=["session_id"], name="session_tag_session"),
        ]


class StepTag(models.Model):
    """A tag on a step."""

    pk = models.CompositePrimaryKey("term_id", "step_id")
    term_id = models.BigIntegerField()
    step_id = PlainReference(Step, models.CASCADE)

    class Meta:
        indexes = [
            # the tags of the steps of a page, and their deletion
            models.Index(fields=["step_id"], name="step_tag_step"),
        ]


class TurnTag(models.Model):
    """A tag, a ``key=value`` of the metadata, or the name of a prompt, on a turn. Plain numbers: Django cannot make a
    composite key of foreign keys in its first migration."""

    pk = models.CompositePrimaryKey("term_id", "turn_id")
    term_id = models.BigIntegerField()
    turn_id = PlainReference(Turn, models.CASCADE)

    class Meta:
        indexes = [
            # the tags of the turns of a page, and their deletion
            models.Index(fields=["turn_id"], name="turn_tag_turn"),
        ]
