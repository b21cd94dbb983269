"""Write the requests of a turn as Python programs with Llama Stack's client."""

from __future__ import annotations

from typing import Any

from agents.pages.curl import MAX_BODY_CHARS, CurlTarget
from agents.pages.python_code import Code, call, opening

FOLLOW_UP = [{"role": "user", "content": "Tell me more."}]
_ARGUMENTS = ("documents", "toolgroups", "tool_config")
"""The settings of a turn that the client knows; others it only sends as ``extra_body``."""
_CLOSING = ("print(turn.turn_id)", "print(turn.output_message.content)")


def continue_session(target: CurlTarget) -> str:
    """Send another message in the same session, and print the answer."""
    return _program(target, [], target.session, FOLLOW_UP, {})


def create_again(target: CurlTarget, messages: Any, settings: dict[str, Any], name: str) -> str:
    """Send the same messages in a new session. Empty if the program is too long."""
    session = call("session = client.agents.session.create", [("", target.agent), ("session_name", name[:200])])
    return _program(target, session, Code("session.session_id"), messages, settings)


def _program(target: CurlTarget, before: list[str], session: str, messages: Any, settings: dict[str, Any]) -> str:
    extra = {name: value for name, value in settings.items() if name not in _ARGUMENTS}
    arguments = [
        ("", session),
        ("agent_id", target.agent),
        ("messages", messages),
        *((name, settings[name]) for name in _ARGUMENTS if name in settings),
        ("stream", False),
        *([("extra_body", extra)] if extra else []),
    ]
    lines = [*opening(target, "llama_stack_client", "LlamaStackClient"), *before]
    code = "\n".join([*lines, *call("turn = client.agents.turn.create", arguments), *_CLOSING])
    return code if len(code) <= MAX_BODY_CHARS else ""
