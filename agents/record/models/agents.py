"""Agents, their revisions, and sessions."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.scoped import Removable
from agents.record.models.choices import Api, Source
from agents.record.models.references import DeletionRule


class Agent(Removable):
    """A stored configuration under one id. What it says now is its current revision. One that is ``unlisted`` was
    made with a session, or deleted while it had some: it is in no list of agents, and goes with its last session."""

    id = KeyField()
    name = ShortText(max_length=300, blank=True)
    model = ShortText(max_length=300)
    revision = models.ForeignKey(
        "agents.AgentRevision", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    source = models.SmallIntegerField(choices=Source.choices, default=Source.NATIVE)
    created_at = MomentField()
    updated_at = MomentField()
    disabled_at = MomentField(null=True, blank=True)
    unlisted = models.BooleanField(default=False, db_default=False)
    foreign_id = ShortText(max_length=255, null=True, blank=True)  # NULLs are distinct

    class Meta(Removable.Meta):
        constraints = [
            models.UniqueConstraint(fields=["owner", "scope", "foreign_id"], name="agent_foreign_id"),
        ]
        indexes = [
            # agents by name in the query language and the pages' list of agents
            models.Index(fields=["name", "id"], name="agent_name"),
            # what is left to delete of those that are removed
            models.Index(fields=["removed_at"], name="agent_removed", condition=models.Q(removed_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name or self.model


class AgentRevision(models.Model):
    """One version of an agent's configuration, never changed. A turn points at the one it ran
    with. ``config`` is the AgentConfig as JSON text. One that is ``of_session`` was never the agent's own: a session
    changed what it took from the agent."""

    id = KeyField()
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    number = models.IntegerField()
    config = LongText()
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    created_at = MomentField()
    of_session = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "number"], name="revision_number")]

    def __str__(self) -> str:
        return f"revision {self.number}"


class Session(Removable):
    """One conversation: a tree of turns. ``active_turn`` is its lock: the turn that runs now;
    ``branched`` says that a turn does not follow the one before it. With a ``revision`` its turns run with that, else
    with what the agent says when they begin. ``settings`` are what OpenAI's Agents API repeats of it, as JSON.
    Sums are kept in the transaction that changes a turn."""

    id = KeyField()
    agent = models.ForeignKey(
        Agent, null=True, blank=True, on_delete=models.CASCADE, related_name="sessions", db_index=False
    )
    revision = models.ForeignKey(
        AgentRevision,
        null=True,
        blank=True,
        on_delete=DeletionRule(models.SET_NULL, within="agent"),
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    name = ShortText(max_length=500, blank=True)
    folded = ShortText(max_length=1600, blank=True, editable=False, help_text="the name as it is compared")
    api = models.SmallIntegerField(choices=Api.choices, default=Api.AGENTS)
    source = models.SmallIntegerField(choices=Source.choices, default=Source.NATIVE)
    created_at = MomentField()
    updated_at = MomentField()
    expires_at = MomentField(null=True, blank=True)
    active_turn = models.BigIntegerField(null=True, blank=True)
    last_turn = models.BigIntegerField(null=True, blank=True)
    turn_count = models.IntegerField(default=0)
    item_count = models.IntegerField(default=0)
    branched = models.BooleanField(default=False)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(null=True, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    settings = LongText(blank=True, default="", db_default="")
    foreign_id = ShortText(max_length=255, null=True, blank=True)  # NULLs are distinct

    class Meta(Removable.Meta):
        constraints = [
            models.UniqueConstraint(fields=["owner", "scope", "foreign_id"], name="session_foreign_id"),
        ]
        indexes = [
            # the sessions of an agent, newest first, and the cascade of its deletion
            models.Index(fields=["agent", "id"], name="session_agent"),
            # sessions by name, in any letters
            models.Index(fields=["folded", "id"], name="session_folded", condition=~models.Q(folded="")),
            # retention: sessions that may go
            models.Index(fields=["expires_at"], name="session_expires", condition=models.Q(expires_at__isnull=False)),
            # what is left to delete of those that are removed
            models.Index(fields=["removed_at"], name="session_removed", condition=models.Q(removed_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name or "(unnamed session)"
