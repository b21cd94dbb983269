"""A plain caller of the API: bytes over ``http.client``, so that what is on the wire is what is
looked at. Knows frames and bodies, nothing of what they should say.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_stack_client.types.shared_params.user_message import UserMessage

TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Answer:
    """Header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Frame:
    """One event of a stream: the lines it had, its id ("" without one), and its JSON."""

    lines: list[bytes]
    cursor: str
    data: dict[str, Any]

    @property
    def payload(self) -> dict[str, Any]:
        return self.data["event"]["payload"]  # type: ignore[no-any-return]  # an object

    @property
    def type(self) -> str:
        return str(self.payload["event_type"]) if "event" in self.data else "error"

    @property
    def text(self) -> str:
        """The words of a text delta; empty for all else."""
        delta = self.payload.get("delta", {}) if "event" in self.data else {}
        return str(delta.get("text", ""))


class CutOff(Exception):
    """A stream ended where none ends."""


class Stream:
    """A stream being read. ``comments`` are those seen so far."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = _headers(response)
        self.comments: list[bytes] = []

    def __iter__(self) -> Iterator[Frame]:
        while (frame := self._next()) is not None:
            yield frame

    def _next(self) -> Frame | None:
        lines: list[bytes] = []
        while line := self._response.readline():
            line = line.removesuffix(b"\n")
            if line.startswith(b":"):
                self.comments.append(line)
            elif line:
                lines.append(line)
            elif lines:
                return _frame(lines)
        if lines:
            raise CutOff(f"inside a frame: {lines}")
        return None

    def until(self, seen: Callable[[Frame], bool]) -> list[Frame]:
        """The frames up to the first for which ``seen`` holds."""
        out: list[Frame] = []
        for frame in self:
            out.append(frame)
            if seen(frame):
                return out
        raise CutOff(f"before what was waited for; last: {out[-1:]}")


def _frame(lines: list[bytes]) -> Frame:
    fields = dict(line.split(b": ", 1) for line in lines)
    return Frame(lines, fields.get(b"id", b"").decode(), json.loads(fields[b"data"]))


def _headers(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


@dataclass
class Caller:
    """Sends requests to one server; ``headers`` go with each of them."""

    port: int
    headers: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def sent(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Iterator[http.client.HTTPConnection]:
        """A request on its way; leaving the block hangs up."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        raw = None if body is None else json.dumps(body)
        kind = {} if raw is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, path, raw, {**kind, **self.headers, **(headers or {})})
            yield connection
        finally:
            connection.close()

    @contextmanager
    def open(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """A response whose body is not read yet; leaving the block hangs up."""
        with self.sent(method, path, body, headers) as connection, connection.getresponse() as response:
            yield response

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        with self.open(method, path, body, headers) as response:
            return Answer(response.status, _headers(response), response.read())

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.ask("POST", path, {} if body is None else body, headers)

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", path)

    @contextmanager
    def stream(
        self, path: str, body: Any = None, headers: dict[str, str] | None = None, *, method: str = "POST"
    ) -> Iterator[Stream]:
        """A stream of events; leaving the block hangs up."""
        with self.open(method, path, body, headers) as response:
            yield Stream(response)


class Talk:
    """One session of an agent made for it. ``path`` is the session's."""

    def __init__(self, caller: Caller, **config: Any) -> None:
        self.caller = caller
        agent = {"model": "scripted/fast", "instructions": "Be brief.", "enable_session_persistence": True, **config}
        created = caller.post("/v1/agents", {"agent_config": agent})
        assert created.status == 200, created.body
        self.agent = created.json["agent_id"]
        self.begin_session()

    def begin_session(self) -> None:
        """Go on in a new session of the same agent."""
        self.session = self.caller.post(f"/v1/agents/{self.agent}/session", {"session_name": "talk"}).json["session_id"]
        self.path = f"/v1/agents/{self.agent}/session/{self.session}"

    def aside(self) -> Talk:
        """Another session of the same agent, beside this one."""
        other = copy(self)
        other.begin_session()
        return other

    def say(self, text: str, **headers: str) -> Answer:
        """A turn, not streamed."""
        return self.caller.post(f"{self.path}/turn", {"messages": [user(text)]}, **headers)

    def saying(self, text: str, headers: dict[str, str] | None = None) -> Any:
        """A turn as a stream."""
        return self.caller.stream(f"{self.path}/turn", {"messages": [user(text)], "stream": True}, headers)

    def begin(self, text: str) -> str:
        """A turn whose caller hangs up as soon as it has begun; returns the turn's id."""
        with self.saying(text) as stream:
            return str(next(iter(stream)).payload["turn_id"])

    def following(self, turn: str, after: str = "", headers: dict[str, str] | None = None) -> Any:
        """A turn's stream from a position."""
        return self.caller.stream(f"{self.path}/turn/{turn}/events?after={after}", None, headers, method="GET")

    def frames(self, turn: str, after: str = "") -> list[Frame]:
        """All of that stream, to its end."""
        with self.following(turn, after) as stream:
            return list(stream)

    def answer(self, turn: str, *responses: dict[str, Any], stream: bool = False) -> Answer:
        """A resume with these answers, not streamed."""
        return self.caller.post(f"{self.path}/turn/{turn}/resume", {"tool_responses": responses, "stream": stream})

    def cancel(self, turn: str) -> Answer:
        return self.caller.post(f"{self.path}/turn/{turn}/cancel")

    def turn(self, turn: str) -> Any:
        """A turn as it is read back."""
        return self.caller.get(f"{self.path}/turn/{turn}").json

    def turns(self) -> Any:
        """All turns of the session."""
        return self.caller.get(self.path).json["turns"]


def user(text: str) -> UserMessage:
    return {"role": "user", "content": text}


def script(*lines: str) -> str:
    """A message that tells the scripted model what to do."""
    return "\n".join(["!script", *lines])


def answer_to(call: dict[str, Any], content: str) -> dict[str, Any]:
    """What a client's tool gave for a call."""
    return {"call_id": call["call_id"], "tool_name": call["tool_name"], "content": content}


def tool(name: str, *parameters: str) -> dict[str, Any]:
    """A client's tool whose parameters are texts."""
    given = [{"name": one, "parameter_type": "str", "description": one, "required": True} for one in parameters]
    return {"name": name, "description": f"Runs {name}", "parameters": given}
