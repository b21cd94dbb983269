"""What the tests of OpenAI's Agents API say again and again: sessions, tools, what a stream brought."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from openai import APIConnectionError, OpenAI

from tests.support.live.caller import script
from tests.support.live.process import eventually

MODEL = "scripted/fast"
NONE: Any = {"type": "none"}


def function(name: str, *parameters: str) -> dict[str, Any]:
    """A function of the client's whose parameters are texts."""
    properties = {one: {"type": "string"} for one in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "name": name, "description": f"Runs {name}", "parameters": schema}


def agent(*tools: dict[str, Any], **more: Any) -> Any:
    return {"model": MODEL, "instructions": "Be brief.", "tools": list(tools), **more}


def message(*texts: str) -> Any:
    """An input event of one message for each text."""
    said = [{"role": "user", "content": [{"type": "input_text", "text": text}]} for text in texts]
    return {"type": "agent.session.input.message", "input": said}


def result(action: Any, output: str | None = "done", **more: Any) -> Any:
    """An input event that answers a call, which a required action names."""
    head = {"type": "agent.session.input.tool_result", "turn_id": action.turn_id, "call_id": action.call_id}
    return {**head, "success": True, "output": output, **more}


def decision(action: Any, word: str) -> Any:
    """An input event that decides about a request for approval."""
    answer = {"type": "mcp_tool_call", "decision": word}
    head = {"type": "agent.session.input.mcp_approval_request_result", "request_id": action.request_id}
    return {**head, "response": answer}


CANCEL: Any = {"type": "agent.session.input.cancel"}


class Talk:
    """A session, and the words for what is done with it."""

    def __init__(self, client: OpenAI, session_id: str) -> None:
        self.client, self.id = client, session_id
        self.sessions = client.beta.agents.sessions

    @classmethod
    def begin(cls, client: OpenAI, *lines: str, text: str = "", **more: Any) -> Talk:
        """A session whose first turn performs these lines, or is asked ``text``."""
        given: Any = {"agent": agent(), "environment": NONE, "input": text or script(*lines), **more}
        return cls(client, client.beta.agents.sessions.create(**given).id)

    def now(self) -> Any:
        return self.sessions.retrieve(self.id)

    def until(self, status: str) -> Any:
        """The session, once it has this status."""

        def reached() -> Any:
            session = self.now()
            return session if session.status == status else None

        return eventually(reached)

    def send(self, *events: Any, **more: Any) -> None:
        self.sessions.events.create(self.id, events=list(events), **more)

    def items(self, **more: Any) -> list[Any]:
        return list(self.sessions.items.list(self.id, **{"order": "asc", **more}))

    def turns(self) -> list[Any]:
        return list(self.sessions.turns.list(self.id, order="asc"))

    def texts(self) -> list[str]:
        """What was said by both, in order."""
        return [said(item) for item in self.items() if item.type == "message"]

    @contextmanager
    def watched(self) -> Iterator[Watcher]:
        """The events of the session from now on."""
        with Watcher(self) as watcher:
            yield watcher


def said(item: Any) -> str:
    return "".join(part.text for part in item.content)


class Watcher:
    """Reads a session's stream in a thread of its own."""

    def __init__(self, talk: Talk) -> None:
        self.events: list[Any] = []
        self._stream = talk.sessions.events.stream(talk.id)
        self._thread = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        with suppress(APIConnectionError):  # whoever watches has closed it
            for event in self._stream:
                self.events.append(event)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    @property
    def is_over(self) -> bool:
        """Whether the server has ended the stream."""
        return not self._thread.is_alive()

    def until(self, kind: str, count: int = 1) -> list[Any]:
        """The events, once so many of a kind have come."""
        wanted = f"agent.session.{kind}"
        return eventually(lambda: list(self.events) if kinds(self.events).count(wanted) >= count else None)


def kinds(events: Iterable[Any]) -> list[str]:
    return [event.type for event in events]


def short(events: Iterable[Any]) -> list[str]:
    """The kinds of events without what all begin with."""
    return [event.type.removeprefix("agent.session.").removeprefix("turn.") for event in events]
