"""Turns, their responses, steps and items. Narrow rows first, the large columns in tables beside them.

A reference without an index has no constraint either: for each deleted row the database would read the whole
table that refers to it. `agents.record.models.references` has the rules of deletion.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.scoped import Scoped, TurnScopedQuerySet
from agents.base.models.terms import Term
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.choices import Api, Source, StepStatus, StepType, TurnStatus
from agents.record.models.prices import Price
from agents.record.models.references import DeletionRule


def _term(**more: object) -> models.ForeignKey[Term | None, Term | None]:
    return models.ForeignKey(Term, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False)


class Turn(Scoped):
    """Everything done to answer one user message. NARROW: lists and filters read only this.

    ``step_types`` is a bit mask (1 << StepType). Durations are microseconds: ``duration_us`` is without
    ``waited_us``, the time that it waited for a person or its client; ``waiting_at`` is when it began to, while it
    does. ``error_message`` is what the message of its error has in common with others of its kind. ``cost_nano`` is
    billionths of a dollar, the sum of the known costs, null while none is known. ``lease_owner`` is the process
    that runs it; ``lease_epoch`` grows whenever the turn gets another owner (it is resumed, taken over, or ended
    from outside), so that a run that lost it can write no more. ``doubt_at`` is set while it waits for somebody to
    decide what became of a call whose process was lost."""

    id = KeyField()
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="turns", db_index=False)
    agent = models.ForeignKey(
        Agent, null=True, blank=True, on_delete=models.CASCADE, related_name="turns", db_index=False
    )
    revision = models.ForeignKey(
        AgentRevision, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="children", db_index=False
    )
    number = models.IntegerField(help_text="position in the session, from 0")
    api = models.SmallIntegerField(choices=Api.choices, default=Api.AGENTS)
    source = models.SmallIntegerField(choices=Source.choices, default=Source.NATIVE)
    status = models.SmallIntegerField(choices=TurnStatus.choices)
    stop_reason = models.CharField(max_length=32, blank=True)
    model = _term()
    provider = _term()
    end_user = _term()
    error_type = _term()
    error_message = _term()
    started_at = MomentField()
    completed_at = MomentField(null=True, blank=True)
    duration_us = models.BigIntegerField(null=True, blank=True)
    waited_us = models.BigIntegerField(null=True, blank=True)
    ttft_us = models.BigIntegerField(null=True, blank=True)
    input_tokens = models.IntegerField(default=0)
    output_tokens = models.IntegerField(default=0)
    cached_tokens = models.IntegerField(default=0)
    reasoning_tokens = models.IntegerField(default=0)
    cost_nano = models.BigIntegerField(null=True, blank=True)
    step_types = models.SmallIntegerField(default=0)
    step_count = models.IntegerField(default=0)
    tool_count = models.IntegerField(default=0)
    error_count = models.IntegerField(default=0)
    violation_count = models.IntegerField(default=0)
    iterations = models.IntegerField(default=0)
    leg_count = models.SmallIntegerField(default=1)
    next_seq = models.IntegerField(default=0)
    actor_key = models.BigIntegerField(null=True, blank=True)
    lease_owner = models.CharField(max_length=32, blank=True)
    lease_epoch = models.IntegerField(db_default=0)
    doubt_at = MomentField(null=True, blank=True)
    waiting_at = MomentField(null=True, blank=True)
    expires_at = MomentField(null=True, blank=True)
    foreign_id = ShortText(max_length=255, null=True, blank=True)  # NULLs are distinct

    search_table = "agents_turn_search"

    class Meta(Scoped.Meta):
        constraints = [
            # the turns of a session in order
            models.UniqueConstraint(fields=["session", "number"], name="turn_number"),
            models.UniqueConstraint(fields=["owner", "scope", "foreign_id"], name="turn_foreign_id"),
        ]
        indexes = [
            # newest turns of an agent, a model, a status; the key is the time
            models.Index(fields=["agent", "id"], name="turn_agent"),
            models.Index(fields=["model", "id"], name="turn_model"),
            models.Index(fields=["status", "id"], name="turn_status"),
            # those for a user, of whom there are many
            models.Index(fields=["end_user", "id"], name="turn_user", condition=Q(end_user__isnull=False)),
            # "failed or with a failed step", rare among many
            models.Index(fields=["id"], name="turn_errors", condition=Q(error_count__gt=0)),
            # those that failed for the same reason
            models.Index(fields=["error_message", "id"], name="turn_message", condition=Q(error_message__isnull=False)),
            # turns that wait for somebody's decision
            models.Index(fields=["doubt_at"], name="turn_doubt", condition=Q(doubt_at__isnull=False)),
            # branches of a turn
            models.Index(fields=["parent"], name="turn_parent", condition=Q(parent__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"turn {self.number}"


class TurnBody(models.Model):
    """The messages of a turn, and the previews that lists show. JSON columns are text as encoded."""

    turn = models.OneToOneField(Turn, primary_key=True, on_delete=models.CASCADE, related_name="body")
    input_preview = ShortText(max_length=300, blank=True)
    output_preview = ShortText(max_length=300, blank=True)
    input_messages = LongText(default="[]")
    output_message = LongText(blank=True)
    request = LongText(blank=True, help_text="this turn's own toolgroups, tool_config, documents")
    error = LongText(blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    attachments = models.SmallIntegerField(default=0, help_text="a bit mask: 1 images, 2 documents")
    sanitized = models.BooleanField(default=False)
    traceparent = models.CharField(
        max_length=55,
        blank=True,
        default="",
        db_default="",
        help_text="the trace that its request belonged to",
    )

    objects = TurnScopedQuerySet.as_manager()
    all_objects = models.Manager()

    class Meta:
        base_manager_name = "all_objects"

    def __str__(self) -> str:
        return self.input_preview


class Response(models.Model):
    """One request of a turn and its answer, in either API. ``first_seq`` and ``last_seq`` are its
    range of events, ``first_step`` its first step, ``first_item`` and ``end_item`` its range of the
    session's items, the first ``input_items`` of which are its input; ``previous`` is the response it
    continues; ``fingerprint`` finds it again when a client retries. ``settings`` are the fields of its
    request that a response of OpenAI's API repeats. ``needs_caller`` says that the request came with data that is not
    stored (keys, headers), so that no other process can go on with it. ``actor_*`` are the user or API key that
    sent it, with the scope of its attributes then: the rights of a user of an identity provider are not known here
    otherwise."""

    id = KeyField()
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="responses", db_index=False)
    number = models.SmallIntegerField()
    previous = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=DeletionRule(models.SET_NULL, within="turn__session"),
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    api = models.SmallIntegerField(choices=Api.choices)
    model = _term()
    status = models.SmallIntegerField(choices=TurnStatus.choices)
    created_at = MomentField()
    completed_at = MomentField(null=True, blank=True)
    first_seq = models.IntegerField()
    last_seq = models.IntegerField(null=True, blank=True)
    first_step = models.IntegerField(default=0)
    first_item = models.IntegerField(default=0)
    input_items = models.IntegerField(default=0)
    end_item = models.IntegerField(null=True, blank=True)
    input_tokens = models.IntegerField(default=0)
    output_tokens = models.IntegerField(default=0)
    cached_tokens = models.IntegerField(default=0)
    reasoning_tokens = models.IntegerField(default=0)
    settings = LongText(blank=True)
    request = models.BinaryField(default=b"", help_text="the body as received")
    request_encoding = models.SmallIntegerField(default=0)
    fingerprint = models.CharField(max_length=64, blank=True)
    body_hash = models.CharField(max_length=64, blank=True)
    needs_caller = models.BooleanField(db_default=False)
    actor_user = models.BigIntegerField(null=True, blank=True)
    actor_key = models.BigIntegerField(null=True, blank=True)
    actor_scope = models.BigIntegerField(null=True, blank=True)

    objects = TurnScopedQuerySet.as_manager()
    all_objects = models.Manager()

    class Meta:
        base_manager_name = "all_objects"
        constraints = [
            models.UniqueConstraint(fields=["turn", "number"], name="response_number"),
        ]
        indexes = [
            # a retried request finds its first run: by Idempotency-Key, or actor, route and body
            models.Index(fields=["fingerprint", "id"], name="response_retry", condition=~Q(fingerprint="")),
            # the responses of OpenAI's API, newest first; those of a model
            models.Index(fields=["id"], name="response_list", condition=Q(api=Api.RESPONSES)),
            models.Index(fields=["model", "id"], name="response_model", condition=Q(api=Api.RESPONSES)),
        ]

    def __str__(self) -> str:
        return f"leg {self.number}"


class Step(models.Model):
    """One thing done in a turn. NARROW. ``name`` is the tool, the model, or the touchpoint. ``duration_us`` is without
    ``waited_us``, the time that it waited for a person or the client; a step that did nothing else has none.
    ``answered_by`` is the user or API key that answered a call, approved or refused it, or decided what became of
    it. ``agent`` is the one that did it, null for that of its turn; the key stays when that agent is deleted: the step
    does not become one of the turn's agent then."""

    id = KeyField()
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="steps", db_index=False)
    number = models.IntegerField(help_text="order in the turn, from 0")
    round = models.SmallIntegerField(default=0)
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=DeletionRule(models.SET_NULL, within="turn"),
        related_name="children",
        db_index=False,
        db_constraint=False,
    )
    type = models.SmallIntegerField(choices=StepType.choices)
    kind = _term()
    tool = _term()
    model = _term()
    name = ShortText(max_length=300, blank=True)
    status = models.SmallIntegerField(choices=StepStatus.choices)
    server_side = models.BooleanField(default=True)
    violation = models.BooleanField(default=False)
    error_type = _term()
    error_message = _term()
    finish = _term()
    started_at = MomentField()
    completed_at = MomentField(null=True, blank=True)
    duration_us = models.BigIntegerField(null=True, blank=True)
    waited_us = models.BigIntegerField(null=True, blank=True)
    ttft_us = models.BigIntegerField(null=True, blank=True)
    input_tokens = models.IntegerField(default=0)
    output_tokens = models.IntegerField(default=0)
    cached_tokens = models.IntegerField(default=0)
    reasoning_tokens = models.IntegerField(default=0)
    cost_nano = models.BigIntegerField(null=True, blank=True)
    price = models.ForeignKey(Price, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    foreign_id = ShortText(max_length=255, null=True, blank=True)  # NULLs are distinct
    answered_by = _term()
    agent = models.ForeignKey(
        Agent,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )

    search_table = "agents_step_search"

    objects = TurnScopedQuerySet.as_manager()
    all_objects = models.Manager()

    class Meta:
        base_manager_name = "all_objects"
        constraints = [
            # the steps of a turn in order
            models.UniqueConstraint(fields=["turn", "number"], name="step_number"),
        ]
        indexes = [
            # turns that used a tool, newest first
            models.Index(fields=["tool", "turn"], name="step_tool", condition=Q(tool__isnull=False)),
            # steps that run, wait or went wrong, rare among many: the condition must stand in the query
            models.Index(fields=["status", "id"], name="step_status", condition=~Q(status=StepStatus.COMPLETED)),
            # those that failed for the same reason
            models.Index(fields=["error_message", "id"], name="step_message", condition=Q(error_message__isnull=False)),
            # steps that somebody answered, rare among many
            models.Index(fields=["answered_by", "id"], name="step_answered", condition=Q(answered_by__isnull=False)),
            # what an agent did in turns of others
            models.Index(fields=["agent", "id"], name="step_agent", condition=Q(agent__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.get_type_display()} {self.name}"


class StepDetail(models.Model):
    """The content of a step: the event's ``detail`` as JSON, compressed from 1 KiB on. While the step is
    open, what is known so far; ``error`` is JSON text."""

    step = models.OneToOneField(Step, primary_key=True, on_delete=models.CASCADE, related_name="detail")
    encoding = models.SmallIntegerField(default=0, help_text="0 JSON, 1 zstd, 2 an outline: long texts are in blocks")
    body = models.BinaryField()
    error = LongText(blank=True)

    def __str__(self) -> str:
        return f"detail of step {self.step_id}"


class ValueBlock(models.Model):
    """A block of a long text of a step, of which the detail has only the beginning; ``part`` numbers the
    long texts of the step. All blocks but a text's last are of one size."""

    id = KeyField()
    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="blocks", db_index=False)
    part = models.IntegerField()
    position = models.IntegerField()
    encoding = models.SmallIntegerField(default=0, help_text="0 as it is, 1 zstd")
    data = models.BinaryField()

    class Meta:
        constraints = [
            # a text in order, by ranges
            models.UniqueConstraint(fields=["step", "part", "position"], name="value_block"),
        ]

    def __str__(self) -> str:
        return f"block {self.position} of text {self.part}"


class Item(models.Model):
    """A message, call or result of a session, encoded as it is sent to a model: the one source of
    history. A hidden item is out of history, never out of the turn's log. One put into a
    conversation has no turn; ``wire`` is an input item of OpenAI's API as it came, where ``body``
    does not say all of it."""

    id = KeyField()
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="items", db_index=False)
    turn = models.ForeignKey(
        Turn,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="items",
        db_index=False,
        db_constraint=False,  # where there are many, they are written before it
    )
    step = models.ForeignKey(
        Step,
        null=True,
        blank=True,
        on_delete=DeletionRule(models.CASCADE, within="turn"),
        related_name="items",
        db_index=False,
        db_constraint=False,
    )
    number = models.IntegerField(help_text="order in the session, from 0")
    hidden = models.BooleanField(default=False)
    body = models.BinaryField()
    wire = models.BinaryField(default=b"")

    objects = TurnScopedQuerySet.as_manager()
    all_objects = models.Manager()

    class Meta:
        base_manager_name = "all_objects"
        constraints = [
            # a session's history in order
            models.UniqueConstraint(fields=["session", "number"], name="item_number"),
        ]
        indexes = [
            # deletion of a turn or a step
            models.Index(fields=["turn"], name="item_turn"),
        ]

    def __str__(self) -> str:
        return f"item {self.number}"
