"""Documents of the search index: the words of a turn and of a step, by part. They depend on nothing stored.

Words are made by the one Python tokeniser on both databases, so the database only splits at blanks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agents.base.tokenizer import index_text

MAX_INDEXED = 200_000
"""Most characters of a part that are indexed."""
GAP, OVERFLOW = "\u00b6", "\u00b6\u00b6"
"""Tokens that are no words: `GAP` separates texts, so that no phrase spans two of them; `OVERFLOW` marks a turn
whose steps do not fit into its document, so that they are searched one by one."""


class StepText(NamedTuple):
    """The searchable texts of a step, by part."""

    said: str = ""
    args: str = ""
    result: str = ""
    problem: str = ""


class TurnTokens(NamedTuple):
    """The tokens of a turn, by part, as `index_tokens` and `steps_document` give them."""

    input: str = ""
    output: str = ""
    problem: str = ""
    metadata: str = ""
    steps: str = ""


StepTokens = tuple[str, ...]
"""The tokens of a step, in the order of `StepText`."""


def index_tokens(text: str) -> str:
    """Return a text as the index holds it."""
    return index_text(text[:MAX_INDEXED]) if text else ""


def step_tokens(text: StepText) -> StepTokens:
    return tuple(map(index_tokens, text))


def turn_tokens(input_text: str, metadata: str = "") -> TurnTokens:
    """Return the tokens of a new turn."""
    return TurnTokens(input=index_tokens(input_text), metadata=index_tokens(metadata))


def steps_document(steps: Iterable[StepTokens], output: str) -> str:
    """Join the tokens of a turn's steps, without the answer itself: that is a part of its own."""
    parts, room = [], MAX_INDEXED
    for part in (part for tokens in steps for part in tokens if part and part != output):
        room -= len(part)
        if room < 0:
            parts.append(OVERFLOW)
            break
        parts.append(part)
    return f" {GAP} ".join(parts)
