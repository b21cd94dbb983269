"""Code samples on a turn's page: programs that repeat its request, or continue from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.pages import curl, llama_stack_code, openai_code, response_requests
from agents.pages.curl import CurlTarget
from agents.record.schemas.content import ToolCall
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store import turns
from agents.record.store.turns import TurnTarget
from agents.responses.store.responses import ResponseRecord

FOLLOW_UP_TEXT = "Tell me more."


@dataclass(frozen=True, slots=True)
class CodeSample:
    """A program with a title; ``language`` is a label."""

    title: str
    language: str
    code: str


def agent_samples(target: CurlTarget, turn: TurnSnapshot, stored: TurnTarget, name: str) -> list[CodeSample]:
    """Samples of a turn of the Agents API; ``name`` is its session's name."""
    again, more = _("Repeat in a new session"), _("Continue this session")
    samples = []
    if len(turn.input_messages) <= curl.MAX_BODY_CHARS:  # else it is decoded for nothing
        messages, settings = json.loads(turn.input_messages), json.loads(stored.request or "{}")
        samples = [
            CodeSample(again, "Python", llama_stack_code.create_again(target, messages, settings, name)),
            CodeSample(again, "curl", curl.create_again(target, messages, settings, name)),
        ]
    samples += [
        CodeSample(more, "Python", llama_stack_code.continue_session(target)),
        CodeSample(more, "curl", curl.continue_session(target)),
    ]
    return [sample for sample in samples if sample.code]


def response_samples(target: CurlTarget, turn: TurnSnapshot, records: Sequence[ResponseRecord]) -> list[CodeSample]:
    """Samples of a turn of the Responses API."""
    requests = []
    if records[-1].is_last:
        next_input = _answer_items(turn.key) if turn.status == "awaiting_input" else FOLLOW_UP_TEXT
        title = _("Answer the waiting call") if turn.status == "awaiting_input" else _("Continue from here")
        requests.append((title, response_requests.follow_up(records[-1], next_input)))
    is_short = records[0].number == 1 and len(turn.input_messages) <= curl.MAX_BODY_CHARS
    first_request = response_requests.request_of(records[0]) if is_short else {}
    if first_request:
        requests.append((_("Repeat the request"), first_request))
    return [
        CodeSample(title, language, code)
        for title, request in requests
        for language, code in (
            ("Python", openai_code.python(target, request)),
            ("curl", openai_code.shell(target, request)),
        )
        if code
    ]


def _answer_items(turn: int) -> list[response_requests.JSON]:
    """An answer to fill in for each pending call of a turn."""
    return [
        response_requests.approval(pending, approve=True)
        if pending.needs_approval
        else response_requests.call_output(ToolCall.model_validate_json(pending.call), "…")
        for pending in turns.pending_calls(turn)
    ]
