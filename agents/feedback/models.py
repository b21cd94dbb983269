"""The table of feedback: ratings, scores, comments."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.terms import Term
from agents.record.models.agents import Session
from agents.record.models.references import DeletionRule
from agents.record.models.turns import Step, Turn


class Rating(models.IntegerChoices):
    UP = 1, "up"
    DOWN = -1, "down"


class Feedback(models.Model):
    """One feedback entry on a step, else on a turn, else on a session: a rating, a named score, a comment, or several
    of them. ``words`` are those of the comment, folded for search, with a blank at either end. ``author`` is the user
    who was logged in, ``author_name`` the name that an application gives. ``foreign_id`` is the sender's id of one that
    was reported with its turn; when it is withdrawn, its row stays without any content, so that it does not come back
    with the next report."""

    id = KeyField()
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="feedback", db_index=False)
    turn = models.ForeignKey(
        Turn, null=True, blank=True, on_delete=models.CASCADE, related_name="feedback", db_index=False
    )
    step = models.ForeignKey(
        Step,
        null=True,
        blank=True,
        # that on a step which is no longer reported stays with the turn
        on_delete=DeletionRule(models.CASCADE, within="turn", merged=models.SET_NULL),
        related_name="feedback",
        db_index=False,
    )
    rating = models.SmallIntegerField(choices=Rating.choices, null=True, blank=True)
    name = models.ForeignKey(Term, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    value = models.FloatField(null=True, blank=True)
    comment = LongText(blank=True)
    words = LongText(blank=True, editable=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    author_name = ShortText(max_length=200, blank=True)
    foreign_id = ShortText(max_length=255, null=True, blank=True)
    created_at = MomentField()
    updated_at = MomentField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(name__isnull=True, value__isnull=True) | Q(name__isnull=False, value__isnull=False),
                name="feedback_name_with_value",
            ),
        ]
        indexes = [
            # the feedback of the records of a page, newest first, and its deletion
            models.Index(fields=["turn", "id"], name="feedback_turn", condition=Q(turn__isnull=False)),
            models.Index(fields=["step"], name="feedback_step", condition=Q(step__isnull=False)),
            models.Index(fields=["session", "id"], name="feedback_session"),
            # rating:down, score.helpful:>0.8
            models.Index(fields=["rating"], name="feedback_rating", condition=Q(rating__isnull=False)),
            models.Index(fields=["name", "value"], name="feedback_score", condition=Q(name__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.comment or self.get_rating_display() or str(self.name)
