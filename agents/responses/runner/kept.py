"""Responses that their clients ask not to store, and that the log keeps all the same (``KEEP_UNSTORED``).

Readers of the log see them as one conversation where they are one. The API does not know them, and its answers are
the same as if nothing were kept.
"""

from __future__ import annotations

from collections.abc import Mapping

from agents.base.errors import NotFound
from agents.record.models.choices import Api
from agents.record.store import items as stored_items
from agents.responses.runner import continuation, input
from agents.responses.runner.input import ParsedInput, ResponseTarget
from agents.responses.runner.requests import ResponseRequest
from agents.responses.store import responses

MAX_THREAD = 512
"""Characters of a client's name for a conversation."""


def continued(request: ResponseRequest, parsed: ParsedInput) -> tuple[ResponseTarget, ParsedInput] | None:
    """Return the target in the log of a request, and the new part of its input; None where it continues nothing that
    is kept."""
    if request.earlier is not None and (target := _target_on_socket(request)) is not None:
        return target, parsed
    if request.earlier is None and (request.body.previous_response_id or request.body.conversation_id) is not None:
        return None
    earlier = request.earlier or ()  # on a socket a client may have sent the beginning of its history before
    return continuation.find_unstored(request.actor, parsed, earlier=earlier, thread=_thread(request))


def _target_on_socket(request: ResponseRequest) -> ResponseTarget | None:
    """Return the response that a request on a socket goes on from, where it is kept."""
    try:
        record = responses.get(request.actor, request.body.previous_response_id or "", "run", Api.UNSTORED)
    except NotFound:
        return None
    return None if record.is_live else continuation.target_after(record)


def own_session(request: ResponseRequest) -> ResponseTarget:
    """Return a new session as the target, which begins with all that came before."""
    if request.earlier is not None:
        return ResponseTarget(earlier=request.earlier)
    target = input.target_of(request.actor, request.body)
    if target.after is not None:
        return ResponseTarget(earlier=input.copied_items(target.after))
    if target.session is not None:
        return ResponseTarget(earlier=input.copies(stored_items.of_session(target.session).walk()))
    return target


def metadata_of(request: ResponseRequest) -> Mapping[str, str]:
    """Return the metadata of a request's turn; of one that is kept, with the client's name for the conversation."""
    thread = _thread(request) if request.is_kept else ""
    return {**request.body.metadata, continuation.THREAD: thread} if thread else request.body.metadata


def _thread(request: ResponseRequest) -> str:
    return (request.body.prompt_cache_key or "")[:MAX_THREAD]
