"""A summary that stands for a conversation before it, and what a model is shown of a history that has one.

Histories grow until they no longer fit a model's context. A *compaction* asks the model for a summary, which is an item
of the session like any other. What models and tools said before it is no longer sent; what people said stays, the
latest of it, because a summary in other words is no instruction.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

_MARK = b'{"role":"system","name":"compaction"'
_KEPT = (b'{"role":"user"', b'{"role":"system"')
KEPT_BYTES = 80_000
"""Of the messages of people before a summary, the latest that fit into this stay: some 20,000 tokens."""

PROMPT = """\
Sum up the conversation above for yourself: it will be replaced by your summary, and you go on from it without having \
seen the rest. Write what is needed to continue, and nothing else:

- what the user wants, with their constraints and preferences, in their words where the words matter;
- what has been done and found, with names, numbers, paths, identifiers and results exactly as they were;
- decisions, with their reasons; what was tried and did not work;
- what is open, and the next step.

Do not answer the user, do not call tools, do not mention this request."""
"""What a model is asked for a summary."""

INTRODUCTION = (
    "The conversation so far was shortened. What follows is your own summary of it: go on from there, and take what it "
    "says of finished work as done.\n\n"
)
"""What a model is told before its summary."""


def compaction_item(summary: str) -> bytes:
    """Encode a summary as an item of its session."""
    return msgspec.json.encode({"role": "system", "name": "compaction", "content": summary})


def after_compaction(history: Sequence[bytes]) -> Sequence[bytes]:
    """Return the messages that a model is shown of a history: all, where it has no summary; else what people said
    before the last one, that summary, and all after it."""
    last = _last_summary(history)
    if last is None:
        return history
    return [*_latest_of_people(history[:last]), _summary_message(history[last]), *history[last + 1 :]]


def from_summary(history: Sequence[bytes]) -> Sequence[bytes]:
    """Return the messages of a history from its last summary on; all, where it has none."""
    return history[_last_summary(history) or 0 :]


def _last_summary(history: Sequence[bytes]) -> int | None:
    return next((at for at in range(len(history) - 1, -1, -1) if history[at].startswith(_MARK)), None)


def of_people(history: Sequence[bytes]) -> list[bytes]:
    """Return the messages of a history that people wrote, developers among them."""
    return [message for message in history if message.startswith(_KEPT) and not message.startswith(_MARK)]


def _latest_of_people(history: Sequence[bytes]) -> list[bytes]:
    kept: list[bytes] = []
    left = KEPT_BYTES
    for message in reversed(of_people(history)):
        left -= len(message)
        if left < 0:
            break
        kept.append(message)
    return kept[::-1]


def _summary_message(item: bytes) -> bytes:
    """Return a summary as a message of the user: not every endpoint takes instructions in the middle."""
    summary = msgspec.json.decode(item)["content"]
    return msgspec.json.encode({"role": "user", "content": f"{INTRODUCTION}{summary}"})
