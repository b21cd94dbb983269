"""Write requests of the Responses API as programs: a shell command, and Python with OpenAI's client.

Both are ASCII: no message can end a string, control the terminal, or change the writing direction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents.pages.curl import MAX_BODY_CHARS, CurlTarget, post

_EXTRA_BODY_FIELDS = ("max_infer_iters", "guardrails", "presence_penalty", "frequency_penalty")
"""Our own fields, which OpenAI's client only sends as ``extra_body``."""
_OMITTED_FIELDS = ("stream", "stream_options", "background")
MAX_LINE_CHARS = 88
INDENT = "    "


def shell(target: CurlTarget, request: Mapping[str, Any]) -> str:
    """The request as a curl command, streamed. Empty if it is too long."""
    body = {**request, "stream": True}
    return post(target, "/v1/responses", body) if len(json.dumps(body)) <= MAX_BODY_CHARS else ""


def python(target: CurlTarget, request: Mapping[str, Any]) -> str:
    """The request as a Python program that prints the answer. Empty if it is too long."""
    standard = {name: value for name, value in request.items() if name not in (*_OMITTED_FIELDS, *_EXTRA_BODY_FIELDS)}
    extra = {name: request[name] for name in _EXTRA_BODY_FIELDS if name in request}
    arguments = [*standard.items(), *([("extra_body", extra)] if extra else [])]
    lines = [f"{INDENT}{name}={_literal(value, 1)}," for name, value in arguments]
    code = "\n".join([*_opening(target), "response = client.responses.create(", *lines, ")", *_CLOSING])
    return code if len(code) <= MAX_BODY_CHARS else ""


def _opening(target: CurlTarget) -> list[str]:
    key = 'os.environ["ASK_KEY"]' if target.with_key else '"none"'
    imports = ["import os", "", "from openai import OpenAI"] if target.with_key else ["from openai import OpenAI"]
    return [*imports, "", f"client = OpenAI(base_url={target.base_url + '/v1'!a}, api_key={key})"]


_CLOSING = ("print(response.status, response.id)", "print(response.output_text)")


def _literal(value: Any, depth: int) -> str:
    """A JSON value as a Python literal, over several lines if one is too long."""
    line = ascii(value)
    if len(line) + depth * len(INDENT) <= MAX_LINE_CHARS or not isinstance(value, dict | list) or not value:
        return line
    inner, outer = INDENT * (depth + 1), INDENT * depth
    if isinstance(value, dict):
        parts = [f"{inner}{name!a}: {_literal(item, depth + 1)}," for name, item in value.items()]
        return "\n".join(["{", *parts, outer + "}"])
    return "\n".join(["[", *(f"{inner}{_literal(item, depth + 1)}," for item in value), outer + "]"])
