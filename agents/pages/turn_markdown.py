"""A turn as Markdown, for another model to read: what was said, done and found, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.http import HttpResponse

from agents.base import ids
from agents.logs.pages.turn_summary import error_text
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import turn_log
from agents.pages import external_steps, speakers, step_cards, step_details, step_values
from agents.pages.blocks import NamedText
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import read_turns, step_pages, turns
from agents.uikit import format
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import plain_response
from agents.uikit.links import base_url

MAX_STEPS = 400
"""Steps that are written; a model reads no more with profit."""
MAX_TEXT_CHARS = 8_000
"""Characters of one text that are written."""
_FENCES = re.compile("`{3,}")


@page("read")
def turn_as_markdown(request: PageRequest, turn_id: str) -> HttpResponse:
    key = turns.key_of(turn_id)
    turn = read_turns.head(request.actor, key)
    rows = turn_log.turn_rows(request.actor, [key])
    if not rows:
        raise turns.not_found(key)
    steps = step_pages.steps(key, 0, MAX_STEPS + 1)
    url = f"{base_url(request)}/turns/{ids.public(ids.Kind.TURN, key)}/"
    return plain_response("\n\n".join(_parts(turn, rows[0], steps, url)) + "\n", "text/markdown")


def _parts(turn: TurnSnapshot, row: TurnRow, steps: tuple[StepSnapshot, ...], url: str) -> Iterator[str]:
    yield "\n".join(_head(turn, row, url))
    for message in step_details.messages(turn.input_messages):
        yield _said(message.role, step_details.text_of(message.content))
        if context := step_details.text_of(message.context):
            yield f"Context given with it:\n\n{fenced(context)}"
    agents = speakers.of_turn(row)
    for step in steps[:MAX_STEPS]:
        yield from _step(step, agents.of(step) or turn.model)
    if len(steps) > MAX_STEPS:
        yield f"More steps follow: {url}"
    answer = step_details.message(turn.output_message)
    if answer is not None and not any(step.type == "inference" for step in steps):
        yield _said(row.agent_name or turn.model, step_details.text_of(answer.content))
    if turn.error is not None:
        yield f"## The turn failed\n\n{_cut(error_text(turn.error))}"


def _head(turn: TurnSnapshot, row: TurnRow, url: str) -> Iterator[str]:
    yield f"# Turn {ids.public(ids.Kind.TURN, turn.key)}"
    yield ""
    facts = {
        "agent": row.agent_name,
        "model": row.model,
        "status": row.status,
        "started": format.iso(turn.started_at),
        "duration": format.duration(row.duration_ms) if row.duration_ms is not None else "",
        "tokens": ""
        if row.usage.total_tokens is None
        else f"{row.usage.input_tokens} in, {row.usage.output_tokens} out",
        "cost": f"${row.cost_usd:.6f}" if row.cost_usd is not None else "",
        "page": url,
    }
    yield from (f"- {name}: {_line(text)}" for name, text in facts.items() if text)


def _step(step: StepSnapshot, speaker: str) -> Iterator[str]:
    texts = step_values.step_texts(step)
    number, took = step.number + 1, step_cards.duration(step)
    if step.type == "inference":
        said = {value.name: value for value in texts}
        yield f"## {number}. {_line(speaker)}{f' ({took})' if took else ''}"
        if "reasoning" in said:
            yield f"Thought:\n\n{_quoted(said['reasoning'])}"
        if "said" in said:
            yield _text(said["said"])
        calls = step_details.read_detail(step, step_details.StoredInference)
        yield from (f"Calls `{_line(call.tool_name)}`." for call in (calls.model_response.tool_calls if calls else ()))
    else:
        name = external_steps.kind_of(step) or step.type
        outcome = ", ".join(filter(None, (step.status, took)))
        yield f"## {number}. {name.replace('_', ' ')}: {_line(step.name)} ({outcome})"
        for value in texts:
            yield f"{value.name}:\n\n{fenced(_text(value))}"
    if step.error is not None:
        yield f"Error: {_cut(error_text(step.error))}"


def _said(who: str, text: str) -> str:
    return f"## {_line(who)}\n\n{_cut(text)}"


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


def _text(value: NamedText) -> str:
    return _cut(value.text, value.total_bytes)


def _cut(text: str, total_bytes: int = 0) -> str:
    if len(text) <= MAX_TEXT_CHARS and not total_bytes:
        return text
    return f"{text[:MAX_TEXT_CHARS]}\n[cut: {max(total_bytes, len(text))} characters in all]"


def _quoted(value: NamedText) -> str:
    return "\n".join(f"> {line}" for line in _text(value).splitlines())


def fenced(text: str) -> str:
    """A code block that the text cannot end."""
    text = _cut(text)
    fence = "`" * max(3, *(len(found) + 1 for found in _FENCES.findall(text)), 3)
    return f"{fence}\n{text}\n{fence}"
