"""Encodes an inference request as the body of a chat-completions call.

The messages are encoded already and are not parsed again: a history of megabytes is only joined.
This module knows the field names of chat completions and nothing of HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from agents.base.errors import InvalidRequest
from agents.base.schemas.wire import JSON
from agents.loop.inference.base import InferenceRequest
from agents.loop.protocols.tools import Grammar
from agents.record.schemas.content import (
    GrammarFormat,
    GreedyStrategy,
    JsonSchemaFormat,
    ResponseFormat,
    SamplingParams,
    SamplingStrategy,
    TopKStrategy,
    TopPStrategy,
)
from agents.record.schemas.items import tool_definition

_encode = msgspec.json.encode

# The alphabet and length that OpenAI accepts as the name of a schema.
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_NAME_LENGTH = 64


GRAMMAR_FIELDS: Mapping[str, Callable[[Grammar], dict[str, JSON]]] = {
    "structured_outputs": lambda grammar: {"structured_outputs": {_kind(grammar): grammar.definition}},
    "guided": lambda grammar: {f"guided_{_kind(grammar)}": grammar.definition},
}
"""How an endpoint takes a grammar: as vLLM does, and as it did before 0.12."""


def _kind(grammar: Grammar) -> str:
    return "regex" if grammar.syntax == "regex" else "grammar"


def encode(request: InferenceRequest, max_tokens_field: str = "max_tokens", grammar_field: str = "") -> bytes:
    """Encode the body of a streaming call; some models want the limit under another name. With a ``grammar_field`` (of
    `GRAMMAR_FIELDS`) the answer of a request with a grammar is the text of its call: no tools are sent, which the
    endpoint would hold the answer to as well. Raises InvalidRequest for a request that cannot be written as JSON."""
    is_guided = bool(grammar_field) and request.grammar is not None
    options: dict[str, JSON] = {
        "stream": True,
        "stream_options": {"include_usage": True},
        **_sampling(request.sampling, max_tokens_field),
        **({} if is_guided else _tools(request)),
        **({} if is_guided else _response_format(request.response_format)),
        **request.options,
    }
    if request.grammar is not None and is_guided:
        options |= GRAMMAR_FIELDS[grammar_field](request.grammar)
        for name in ("response_format", "parallel_tool_calls"):
            options.pop(name, None)
    try:
        model, options_json = _encode(request.model), _encode(options)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the request cannot be written as JSON: {error}") from None
    return b"".join((b'{"model":', model, b',"messages":[', b",".join(request.messages), b"],", options_json[1:]))


def _sampling(sampling: SamplingParams, max_tokens_field: str) -> dict[str, JSON]:
    options = _strategy(sampling.strategy)
    if sampling.max_tokens:
        options[max_tokens_field] = sampling.max_tokens
    if sampling.repetition_penalty not in (None, 1.0):
        options["repetition_penalty"] = sampling.repetition_penalty
    if sampling.stop:
        options["stop"] = sampling.stop
    return options


def _strategy(strategy: SamplingStrategy) -> dict[str, JSON]:
    match strategy:
        case GreedyStrategy():
            return {"temperature": 0}
        case TopPStrategy(temperature=temperature, top_p=top_p):
            both = {"temperature": temperature, "top_p": top_p}
            return {name: value for name, value in both.items() if value is not None}
        case TopKStrategy(top_k=top_k):
            return {"top_k": top_k}


def _tools(request: InferenceRequest) -> dict[str, JSON]:
    """Return the fields for tools. With ``none`` no tools are sent: not every endpoint heeds ``none``, but
    none calls a tool it was never sent. ``auto``, the default, is left out: some endpoints refuse it."""
    choice = request.tool_choice
    if not request.tools or choice == "none":
        return {}
    options: dict[str, JSON] = {"tools": [tool_definition(tool) for tool in request.tools]}
    if choice == "required":
        options["tool_choice"] = choice
    elif choice != "auto":
        options["tool_choice"] = {"type": "function", "function": {"name": choice}}
    return options


def _response_format(response_format: ResponseFormat | None) -> dict[str, JSON]:
    match response_format:
        case None:
            return {}
        case JsonSchemaFormat(json_schema=schema):
            schema_format = {"name": _schema_name(schema), "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": schema_format}}
        case GrammarFormat(bnf=bnf):
            # not part of chat completions; several compatible endpoints take it, others refuse it
            return {"response_format": {"type": "grammar", "grammar": bnf}}


def _schema_name(schema: dict[str, JSON]) -> str:
    title = schema.get("title")
    name = _NOT_IN_A_NAME.sub("_", title)[:_NAME_LENGTH] if isinstance(title, str) else ""
    return name.strip("_") or "response"
