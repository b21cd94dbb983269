"""What a model's name promises: the name is the endpoint's whole configuration, and lets a client
tell whether it has all of an answer.

An ``endpoint/`` before the name is ignored:

==================  =============================================================================
``fake-200``        200 tokens, a chunk each, at once
``fake-50-d20``     50 tokens, 20 ms before each
``fake-200-f300``   300 ms before the first token only
``fake-200-c16``    tokens of 16 characters (5 without it)
``fake-200-b10``    10 chunks in one write (1 without it)
``fake-tool-50``    a tool call first, if the request offers tools; 50 tokens once it is answered
``…-x2``            two calls in a round
``…-r3``            three rounds of calls before the text
==================  =============================================================================

The answer is always ``t0000 t0001 …``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_OPTION = re.compile(r"([dfcbxr])(\d+)")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a model's name promises. Times in seconds, ``width`` in characters."""

    tokens: int = 50
    calls_tools: bool = False
    delay_s: float = 0.0
    first_s: float = 0.0
    width: int = 5
    batch: int = 1
    calls: int = 1
    rounds: int = 1


@cache
def plan_of(model: str) -> Plan:
    """Read a model's name. Raises ValueError for one that says anything not in the list above."""
    family, *parts = model.rsplit("/", 1)[-1].split("-")
    if family != "fake" or not parts:
        raise ValueError(f"{model}: the name of a model begins with fake-")
    numbers = {"d": 0, "f": 0, "c": 5, "b": 1, "x": 1, "r": 1, "tokens": 50}
    for part in parts:
        option = _OPTION.fullmatch(part)
        if option:
            numbers[option[1]] = int(option[2])
        elif part.isdecimal():
            numbers["tokens"] = int(part)
        elif part != "tool":
            raise ValueError(f"{model}: {part} means nothing")
    return Plan(
        tokens=numbers["tokens"],
        calls_tools="tool" in parts,
        delay_s=numbers["d"] / 1000,
        first_s=numbers["f"] / 1000,
        width=max(numbers["c"], 3),
        batch=max(numbers["b"], 1),
        calls=max(numbers["x"], 1),
        rounds=numbers["r"],
    )


def token(number: int, width: int) -> str:
    return f"t{number:0{width - 2}d} "


@cache
def answer(model: str) -> str:
    """The text a model ends with."""
    plan = plan_of(model)
    return "".join(token(number, plan.width) for number in range(plan.tokens))
