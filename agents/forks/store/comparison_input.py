"""A turn as it is compared with another: its row, its first steps, and what it ran with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.forks.comparison.turns import TurnToCompare, compare
from agents.forks.schemas.comparison import Comparison
from agents.logs.store import turn_log
from agents.record.models.turns import Turn
from agents.record.schemas.agents import ForkSettings
from agents.record.store import agents, forks, read_turns, step_pages, turns
from agents.responses.store import responses

MAX_STEPS = 2_000
"""Steps of a turn that are compared."""

_SETTINGS = (
    "instructions",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "guardrails",
    "text",
    "max_infer_iters",
    "max_tool_calls",
    "budget",
)
_CONFIG = (
    "instructions",
    "sampling_params",
    "toolgroups",
    "client_tools",
    "tool_config",
    "input_shields",
    "output_shields",
    "response_format",
    "max_infer_iters",
)


def comparison(actor: Actor, a: str, b: str) -> Comparison:
    """Two turns compared, by their public ids. Raises NotFound, also for one the actor may not see: for the
    first before the second is looked at."""
    first = turn_to_compare(actor, turns.key_of(a))
    second = turn_to_compare(actor, turns.key_of(b))
    return compare(first, second, _fork(actor, first.turn.key, second.turn.key))


def _fork(actor: Actor, a: int, b: int) -> int | None:
    """Which of two turns is a fork of the other."""
    for turn, other in ((a, b), (b, a)):
        record = forks.of_turn(actor, turn)
        if record is not None and record.source == other:
            return turn
    return None


def turn_to_compare(actor: Actor, key: int) -> TurnToCompare:
    """A turn. Raises NotFound, also for one the actor may not see."""
    turn, rows = read_turns.head(actor, key), turn_log.turn_rows(actor, [key])
    if not rows:
        raise turns.not_found(key)
    steps = step_pages.steps(key, 0, MAX_STEPS)
    return TurnToCompare(
        turn, rows[0], steps, step_pages.landmarks(key, failed=False, waits=False).total, parameters(actor, key)
    )


def parameters(actor: Actor, key: int) -> Mapping[str, Any]:
    """What a turn that was read ran with, by name; nothing where that is not known, or not for the actor."""
    row = Turn.objects.visible_to(actor).filter(pk=key).values_list("agent_id", "revision_id").first()
    if row is None or None in row:
        settings = responses.last_settings(key)
        values: dict[str, Any] = msgspec.json.decode(settings) if settings else {}
        return {name: values[name] for name in _SETTINGS if name in values}
    try:
        config = agents.revision_config(actor, *row)
    except NotFound:
        return {}
    config = config.model_copy(update=ForkSettings.model_validate_json(forks.settings_of(key)).changed_values)
    values = config.model_dump(mode="json", exclude_none=True)
    return {name: values.get(name) for name in _CONFIG}
