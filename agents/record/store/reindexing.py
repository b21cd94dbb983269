"""Rebuilds the search documents from the rows, turn by turn: after a change of the indexed texts or of the
tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from agents.base.store.writer import writer
from agents.record.models.choices import StepType
from agents.record.models.turns import Step, StepDetail, Turn, TurnBody
from agents.record.schemas import searchable_text
from agents.record.schemas.content import CompletionMessage, text_of
from agents.record.schemas.events import DETAILS, ErrorInfo
from agents.record.schemas.search_documents import StepText
from agents.record.schemas.searchable_text import metadata_text
from agents.record.store import large_values, search

TURNS_PER_JOB = 50
"""Turns of one job."""


def count(after: int = 0) -> int:
    """Count the turns after a key."""
    return Turn.objects.unscoped("the server's own").filter(pk__gt=after).count()


def run(after: int = 0) -> Iterator[tuple[int, int]]:
    """Index every turn after the key ``after``, oldest first. Yields after each job the last key, to continue from,
    and how many are done."""
    done = 0
    while True:
        rows = Turn.objects.unscoped("the server's own").filter(pk__gt=after).order_by("pk")
        keys = list(rows.values_list("pk", flat=True)[:TURNS_PER_JOB])
        if not keys:
            return
        writer.write(partial(index, keys))
        after, done = keys[-1], done + len(keys)
        yield after, done


def index(turns: list[int]) -> None:
    """Build the documents of these turns and their steps, in the caller's transaction."""
    steps = Step.objects.unscoped("the server's own").filter(turn_id__in=turns)
    types = dict(steps.values_list("pk", "type"))
    details = StepDetail.objects.filter(step_id__in=list(types)).values_list("pk", "encoding", "body", "error")
    for key, kind, body, error in details.iterator(chunk_size=50):
        search.index_step(key, _step_text(types[key], large_values.unpack(key, kind, body), error))
    bodies = TurnBody.objects.unscoped("the server's own").filter(turn_id__in=turns)
    for row in bodies.values_list("pk", "input_messages", "output_message", "error", "metadata"):
        _index_turn(*row)


def _step_text(type_: int, detail: bytes, error: str) -> StepText:
    return searchable_text.of_step(DETAILS[StepType(type_).label].model_validate_json(detail), _error(error))


def _index_turn(turn: int, input_messages: str, output_message: str, error: str, metadata: dict[str, Any]) -> None:
    search.index_turn(turn, _input_text(input_messages), metadata_text(metadata))
    answer = text_of(CompletionMessage.model_validate_json(output_message).content) if output_message else ""
    failure = _error(error)
    search.index_answer(turn, answer, failure.message if failure else "")


def _input_text(messages: str) -> str:
    """Return the text of a turn's input: of its messages only those of users and tools."""
    relevant = [message for message in msgspec.json.decode(messages) if message.get("role") in ("user", "tool")]
    return searchable_text.of_input(msgspec.json.encode(relevant).decode())


def _error(error: str) -> ErrorInfo | None:
    return ErrorInfo.model_validate_json(error) if error else None
