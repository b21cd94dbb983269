"""Write the requests of a turn as curl commands.

Bodies are ASCII JSON in single quotes: no message can end the quoting, control the terminal, or change
the writing direction.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

MAX_BODY_CHARS = 20_000
"""A request with a longer body is not shown as a command."""


@dataclass(frozen=True, slots=True)
class CurlTarget:
    """The target of requests: ``base_url`` has no trailing slash; ``with_key`` if a login is required, so that the
    command needs an API key. A turn of the Responses API has no ``agent``."""

    base_url: str
    agent: str
    session: str
    with_key: bool


def continue_session(target: CurlTarget) -> str:
    """Send another message in the same session, streamed."""
    body = {"messages": [{"role": "user", "content": "Tell me more."}], "stream": True}
    return post(target, f"/v1/agents/{target.agent}/session/{target.session}/turn", body)


def create_again(target: CurlTarget, messages: Any, settings: dict[str, Any], name: str) -> str:
    """Send the same messages in a new session. Empty if the body is too long for a command."""
    body = {**settings, "messages": messages, "stream": True}
    if len(json.dumps(body)) > MAX_BODY_CHARS:
        return ""
    url = f"/v1/agents/{target.agent}/session"
    new = post(target, url, {"session_name": name[:200]}, stream=False)
    first = f'SESSION=$({new} |\n  sed \'s/.*"session_id": *"\\([^"]*\\)".*/\\1/\')'
    return f"{first}\n{post(target, f'{url}/$SESSION/turn', body)}"


def post(target: CurlTarget, path: str, body: dict[str, Any], *, stream: bool = True) -> str:
    """A request with a JSON body."""
    # double quotes around the URL, so that the shell expands $SESSION; it has no text of users
    parts = [f'curl -sS{"N" if stream else ""} "{target.base_url}{path}"', "-H 'Content-Type: application/json'"]
    if target.with_key:
        parts.append('-H "Authorization: Bearer $ASK_KEY"')
    return " \\\n  ".join([*parts, f"-d {shlex.quote(json.dumps(body))}"])
