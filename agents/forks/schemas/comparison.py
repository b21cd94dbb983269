"""Two turns side by side, as the API and the page tell it. ``a`` is the first, ``b`` the second."""

from __future__ import annotations

from typing import Any, Literal

from agents.base.schemas.wire import StepKey, TurnKey, WireOutput
from agents.logs.schemas.rows import TurnRow
from agents.record.schemas.events import Origin, StepStatus, StepType
from agents.uikit.text_diff import DiffPart


class TextDifference(WireOutput):
    """A text of both, by name (``said``, ``arguments``, ``result``, …). ``cut``: it is longer, and its
    beginning and its size were compared."""

    name: str
    same: bool
    pieces: list[DiffPart]
    cut: bool = False


class Difference(WireOutput):
    """A value of both; ``change`` is the second less the first, where both are numbers."""

    name: str
    a: Any
    b: Any
    same: bool
    change: float | None = None


class StepSide(WireOutput):
    """``place`` counts the steps of the turn from 1."""

    id: StepKey
    place: int
    name: str
    status: StepStatus
    duration_ms: float | None
    ttft_ms: float | None
    input_tokens: int
    output_tokens: int
    origin: Origin | None = None


class StepPair(WireOutput):
    """Steps that answer to each other, or one that is in one turn only. ``values`` are those that differ,
    ``texts`` all texts of a pair that is not the same."""

    kind: Literal["same", "changed", "deleted", "inserted"]
    type: StepType
    a: StepSide | None
    b: StepSide | None
    values: list[Difference] = []
    texts: list[TextDifference] = []


class PairCounts(WireOutput):
    same: int = 0
    changed: int = 0
    deleted: int = 0
    inserted: int = 0


class Comparison(WireOutput):
    """``source`` says which of them is a fork of the other. ``in_order``: too much differs to find the best
    alignment, so that like steps are paired in order. ``left_out``: steps of both that are beyond those that
    are compared. ``parameters`` are what the turns ran with."""

    object: Literal["comparison"] = "comparison"
    a: TurnRow
    b: TurnRow
    fork: TurnKey | None = None
    facts: list[Difference]
    parameters: list[Difference]
    texts: list[TextDifference]
    steps: list[StepPair]
    counts: PairCounts
    in_order: bool = False
    left_out: int = 0
