"""Fills in the prompt that a request names: its text becomes the response's instructions."""

from __future__ import annotations

from typing import Any

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.responses.schemas.input_items import MessageItem, TextPart, items_of_input
from agents.responses.schemas.prompts import PromptReference, filled_text
from agents.responses.schemas.requests import CreateResponse
from agents.responses.store import prompts
from agents.responses.store.prompts import PromptRecord


def filled(actor: Actor, body: CreateResponse) -> CreateResponse:
    """Return a request with the text of its prompt as instructions, unless it has its own, and with the version that is
    used. Images and files among the variables stand before the input, where a model can see them; the text has their
    names. Raises NotFound, InvalidRequest."""
    if body.prompt is None:
        return body
    record = _record(actor, body.prompt)
    values = _values(body.prompt, record)
    instructions = filled_text(record.text, lambda name: _words(name, values[name]))
    reference = body.prompt.model_copy(update={"version": str(record.version)})
    changes: dict[str, Any] = {"prompt": reference}
    if body.instructions is None:
        changes["instructions"] = instructions
    media = [_shown(name, value) for name, value in values.items() if not isinstance(value, str | TextPart)]
    if media:
        changes["input"] = [*media, *items_of_input(body.input)]
    return body.model_copy(update=changes)


def _record(actor: Actor, reference: PromptReference) -> PromptRecord:
    version = None if reference.version is None else int(reference.version)
    try:
        return prompts.get(actor, reference.id, version, "run")
    except NotFound as error:
        raise NotFound(error.message, code=error.code, param=f"prompt.{error.param or 'id'}") from None


def _values(reference: PromptReference, record: PromptRecord) -> dict[str, Any]:
    """Return the values of the variables. Raises InvalidRequest for one that is missing or unknown."""
    for name in reference.variables:
        if name not in record.variables:
            message = f"prompt.variables: this prompt has no variable '{name[:64]}'."
            raise InvalidRequest(message, param=f"prompt.variables.{name[:64]}", code="unknown_variable")
    for name in record.variables:
        if name not in reference.variables:
            message = f"prompt.variables: '{name}' is missing."
            raise InvalidRequest(message, param=f"prompt.variables.{name}", code="missing_variable")
    return {name: reference.variables[name] for name in record.variables}


def _words(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return value.text if isinstance(value, TextPart) else f"[{name}]"


def _shown(name: str, part: Any) -> MessageItem:
    content = [{"type": "input_text", "text": f"[{name}]"}, part.model_dump(exclude_none=True)]
    return MessageItem.model_validate({"role": "user", "content": content})
