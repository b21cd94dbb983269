"""What a turn's page offers to be copied: requests that ask the same again, or go on, as programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.pages import curl, openai_code, response_requests
from agents.pages.curl import Place
from agents.record.schemas.content import ToolCall
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store import turns
from agents.record.store.turns import TurnTarget
from agents.responses.store.responses import ResponseRecord

MORE = "Tell me more."


@dataclass(frozen=True, slots=True)
class Command:
    """A program under a title; ``language`` is for the reader."""

    title: str
    language: str
    code: str


def of_agent(place: Place, turn: TurnSnapshot, stands: TurnTarget, name: str) -> list[Command]:
    """Those of a turn of the Agents API, in whose session ``name`` they ask."""
    asked, own = json.loads(turn.input_messages), json.loads(stands.request or "{}")
    found = [
        Command(_("Say more in this session"), "curl", curl.continue_session(place)),
        Command(_("Ask the same in a new session"), "curl", curl.create_again(place, asked, own, name)),
    ]
    return [command for command in found if command.code]


def of_responses(place: Place, turn: TurnSnapshot, records: Sequence[ResponseRecord]) -> list[Command]:
    """Those of a turn that responses are made of."""
    wanted = []
    if records[-1].is_last:
        given = _answers(turn.key) if turn.status == "awaiting_input" else MORE
        title = _("Answer what it waits for") if turn.status == "awaiting_input" else _("Go on from here")
        wanted.append((title, response_requests.continued(records[-1], given)))
    again = response_requests.request_of(records[0]) if records[0].number == 1 else {}
    if again:
        wanted.append((_("Ask the same again"), again))
    return [
        Command(title, language, code)
        for title, request in wanted
        for language, code in (
            ("Python", openai_code.python(place, request)),
            ("curl", openai_code.shell(place, request)),
        )
        if code
    ]


def _answers(turn: int) -> list[response_requests.JSON]:
    """An answer to everything a turn waits for, to be filled in."""
    return [
        response_requests.approval(one, approve=True)
        if one.needs_approval
        else response_requests.output(ToolCall.model_validate_json(one.call), "…")
        for one in turns.pending_calls(turn)
    ]
