"""Write requests of the Responses API as programs: a shell command, and Python with OpenAI's client.

Both are ASCII: no message can end a string, control the terminal, or change the writing direction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents.pages.curl import MAX_BODY_CHARS, CurlTarget, post
from agents.pages.python_code import call, opening

_EXTRA_BODY_FIELDS = ("max_infer_iters", "guardrails", "presence_penalty", "frequency_penalty")
"""Our own fields, which OpenAI's client only sends as ``extra_body``."""
_OMITTED_FIELDS = ("stream", "stream_options", "background")
_CLOSING = ("print(response.status, response.id)", "print(response.output_text)")


def shell(target: CurlTarget, request: Mapping[str, Any]) -> str:
    """The request as a curl command, streamed. Empty if it is too long."""
    body = {**request, "stream": True}
    return post(target, "/v1/responses", body) if len(json.dumps(body)) <= MAX_BODY_CHARS else ""


def python(target: CurlTarget, request: Mapping[str, Any]) -> str:
    """The request as a Python program that prints the answer. Empty if it is too long."""
    standard = {name: value for name, value in request.items() if name not in (*_OMITTED_FIELDS, *_EXTRA_BODY_FIELDS)}
    extra = {name: request[name] for name in _EXTRA_BODY_FIELDS if name in request}
    arguments = [*standard.items(), *([("extra_body", extra)] if extra else [])]
    lines = [*opening(target, "openai", "OpenAI", "/v1"), *call("response = client.responses.create", arguments)]
    code = "\n".join([*lines, *_CLOSING])
    return code if len(code) <= MAX_BODY_CHARS else ""
