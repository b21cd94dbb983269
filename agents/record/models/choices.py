"""Enumerations that rows hold as small numbers. The labels are the names on the wire."""

from __future__ import annotations

from django.db import models


class TurnStatus(models.IntegerChoices):
    QUEUED = 1, "queued"
    IN_PROGRESS = 2, "in_progress"
    AWAITING_INPUT = 3, "awaiting_input"
    COMPLETED = 4, "completed"
    FAILED = 5, "failed"
    CANCELLED = 6, "cancelled"
    INTERRUPTED = 7, "interrupted"


INCOMPLETE = 8
RESPONSE_STATUSES = (*TurnStatus.choices, (INCOMPLETE, "incomplete"))
"""Statuses of responses as the wire has them. A response is ``incomplete`` where a limit ended its turn: it is stored
as completed, and the last of a completed turn with a reason of `TRUNCATING`."""


LIVE = (TurnStatus.QUEUED, TurnStatus.IN_PROGRESS)
"""Statuses of a turn that a process runs, or should run."""

FINAL = (TurnStatus.COMPLETED, TurnStatus.FAILED, TurnStatus.CANCELLED, TurnStatus.INTERRUPTED)
"""Statuses of a turn that has ended."""


TRUNCATING = ("out_of_tokens", "max_infer_iters")
"""Reasons why a turn or step stopped before its end."""


class StepStatus(models.IntegerChoices):
    """The numbers agree with `TurnStatus`."""

    IN_PROGRESS = 2, "in_progress"
    AWAITING_INPUT = 3, "awaiting_input"
    COMPLETED = 4, "completed"
    FAILED = 5, "failed"
    CANCELLED = 6, "cancelled"
    INTERRUPTED = 7, "interrupted"


class StepType(models.IntegerChoices):
    INFERENCE = 1, "inference"
    TOOL_EXECUTION = 2, "tool_execution"
    SHIELD_CALL = 3, "shield_call"
    MEMORY_RETRIEVAL = 4, "memory_retrieval"
    OTHER = 5, "other"


class Api(models.IntegerChoices):
    """The API that a record came in by; external records have none. ``unstored`` is a response that its client asked
    not to store, and that is kept for readers of the log alone: the API does not know it."""

    NONE = 0, "none"
    AGENTS = 1, "agents"
    RESPONSES = 2, "responses"
    UNSTORED = 3, "unstored"


OF_RESPONSES = (Api.RESPONSES, Api.UNSTORED)


class Source(models.IntegerChoices):
    NATIVE = 1, "native"
    DEMO = 2, "demo"
    OTLP = 3, "otlp"
    IMPORT = 4, "import"
    OPENAI_AGENTS = 5, "openai_agents"
    LANGSMITH = 6, "langsmith"


EXTERNAL = (Source.OTLP, Source.IMPORT, Source.OPENAI_AGENTS, Source.LANGSMITH)
"""Sources of records that ran elsewhere and were reported here."""


class BudgetTarget(models.IntegerChoices):
    """Whose inferences a budget limits."""

    SERVER = 0, "server"
    USER = 1, "user"
    API_KEY = 2, "api_key"
    AGENT = 3, "agent"
    SESSION = 4, "session"


class BudgetPeriod(models.IntegerChoices):
    """What a budget limits: each turn by itself, all since it was made, or a time that ends now."""

    TURN = 1, "turn"
    TOTAL = 2, "total"
    WINDOW = 3, "window"
