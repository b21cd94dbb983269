"""Requests of the Responses API as programs: a command for a shell, and Python with OpenAI's client.

Both are ASCII: whatever was said, nothing in it can end a string, steer a terminal, or turn the
direction of writing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents.pages.curl import LONGEST, Place, post

_EXTRA = ("max_infer_iters", "guardrails", "presence_penalty", "frequency_penalty")
"""Fields of ours that OpenAI's client only sends as its ``extra_body``."""
_DROPPED = ("stream", "stream_options", "background")
WIDTH = 88
INDENT = "    "


def shell(place: Place, request: Mapping[str, Any]) -> str:
    """The request for a shell, streamed. Empty when it is too long for a command."""
    body = {**request, "stream": True}
    return post(place, "/v1/responses", body) if len(json.dumps(body)) <= LONGEST else ""


def python(place: Place, request: Mapping[str, Any]) -> str:
    """The request as a program that prints the answer. Empty when it is too long."""
    given = {name: value for name, value in request.items() if name not in (*_DROPPED, *_EXTRA)}
    extra = {name: request[name] for name in _EXTRA if name in request}
    arguments = [*given.items(), *([("extra_body", extra)] if extra else [])]
    lines = [f"{INDENT}{name}={_literal(value, 1)}," for name, value in arguments]
    code = "\n".join([*_opening(place), "response = client.responses.create(", *lines, ")", *_CLOSING])
    return code if len(code) <= LONGEST else ""


def _opening(place: Place) -> list[str]:
    key = 'os.environ["ASK_KEY"]' if place.with_key else '"none"'
    imports = ["import os", "", "from openai import OpenAI"] if place.with_key else ["from openai import OpenAI"]
    return [*imports, "", f"client = OpenAI(base_url={place.base_url + '/v1'!a}, api_key={key})"]


_CLOSING = ("print(response.status, response.id)", "print(response.output_text)")


def _literal(value: Any, depth: int) -> str:
    """A JSON value as Python writes it, over several lines where one is too long."""
    line = ascii(value)
    if len(line) + depth * len(INDENT) <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner, outer = INDENT * (depth + 1), INDENT * depth
    if isinstance(value, dict):
        parts = [f"{inner}{name!a}: {_literal(one, depth + 1)}," for name, one in value.items()]
        return "\n".join(["{", *parts, outer + "}"])
    return "\n".join(["[", *(f"{inner}{_literal(one, depth + 1)}," for one in value), outer + "]"])
