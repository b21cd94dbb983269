"""Requests of a turn as commands that really run in a shell.

Bodies are ASCII JSON in single quotes: whatever was said, nothing in it can end the quoting, steer
a terminal, or turn the direction of writing.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

LONGEST = 20_000
"""Characters of a body beyond which a command is not shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to send: ``base_url`` without a slash at its end; ``with_key`` where a login is asked
    for, so that the command needs an API key. A turn of the Responses API has no ``agent``."""

    base_url: str
    agent: str
    session: str
    with_key: bool


def continue_session(place: Place) -> str:
    """Say something more in the same session, streamed."""
    body = {"messages": [{"role": "user", "content": "Tell me more."}], "stream": True}
    return post(place, f"/v1/agents/{place.agent}/session/{place.session}/turn", body)


def create_again(place: Place, messages: Any, settings: dict[str, Any], name: str) -> str:
    """Ask the same in a new session. Empty when the body is too long for a command."""
    body = {**settings, "messages": messages, "stream": True}
    if len(json.dumps(body)) > LONGEST:
        return ""
    url = f"/v1/agents/{place.agent}/session"
    new = post(place, url, {"session_name": name[:200]}, stream=False)
    first = f'SESSION=$({new} |\n  sed \'s/.*"session_id": *"\\([^"]*\\)".*/\\1/\')'
    return f"{first}\n{post(place, f'{url}/$SESSION/turn', body)}"


def post(place: Place, path: str, body: dict[str, Any], *, stream: bool = True) -> str:
    """A request with a JSON body."""
    # double quotes around the URL: $SESSION is to be filled in; the rest of it is ours
    parts = [f'curl -sS{"N" if stream else ""} "{place.base_url}{path}"', "-H 'Content-Type: application/json'"]
    if place.with_key:
        parts.append('-H "Authorization: Bearer $ASK_KEY"')
    return " \\\n  ".join([*parts, f"-d {shlex.quote(json.dumps(body))}"])
