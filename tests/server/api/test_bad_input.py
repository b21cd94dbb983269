"""Bad input is refused with the field and the reason, or stored readable; never a 5xx, never half."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from agents.base.api.error_bodies import is_messages_path
from agents.record.models.agents import Agent, Session
from agents.record.models.turns import Turn
from tests.support.cases import sparing
from tests.support.inprocess import body_of, json_of
from tests.support.input_corpus import HOSTILE, NO_JSON, hostile_bodies, wrong_bodies

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "conflict_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
}
KEYS = {"message", "type", "code", "param", "detail"}


def refusal(response: Any) -> dict[str, Any]:
    """The error of an answer, after a look at the shape that all of them share."""
    assert response.headers["Content-Type"] == "application/json", response.content[:200]
    body = json.loads(response.content)
    if is_messages_path(response.request["PATH_INFO"]):
        return refusal_of_messages(response, body)
    assert set(body) - {"turn"} == {"error", "detail", "request_id"}
    error: dict[str, Any] = body["error"]
    assert set(error) - {"position", "suggestion"} == KEYS
    assert error["type"] == TYPES[response.status_code], error
    assert error["message"]
    assert isinstance(error["message"], str)
    assert body["detail"] == error["message"]
    assert body["request_id"] == response.headers["x-request-id"] != ""
    assert len(response.content) < 20_000
    return error


def refusal_of_messages(response: Any, body: dict[str, Any]) -> dict[str, Any]:
    """The error of an answer to one of Anthropic's clients, who are told in other words."""
    assert (set(body), set(body["error"]) - {"details"}) == ({"type", "error", "request_id"}, {"type", "message"})
    assert body["type"] == "error"
    assert body["error"]["type"] == {**TYPES, 413: "request_too_large"}[response.status_code].replace("conflict", "api")
    assert body["error"]["message"]
    assert body["request_id"] == response.headers["request-id"] == response.headers["x-request-id"] != ""
    assert len(response.content) < 20_000
    error: dict[str, Any] = body["error"]
    return error


# -------------------------------------------------------------------------------------------- the road

LOOKUP = {
    "name": "lookup",
    "description": "Look something up",
    "parameters": [{"name": "query", "parameter_type": "str", "description": "what", "required": True, "default": "x"}],
    "metadata": {"k": "v"},
}
AGENT: dict[str, Any] = {
    "agent_config": {
        "model": "scripted/fast",
        "instructions": "Be brief.",
        "name": "helper",
        "enable_session_persistence": True,
        "response_format": {"type": "json_schema", "json_schema": {"type": "object", "properties": {}}},
        "sampling_params": {
            "strategy": {"type": "top_p", "temperature": 0.5, "top_p": 0.9},
            "max_tokens": 100,
            "repetition_penalty": 1.0,
            "stop": ["END"],
        },
        "input_shields": ["demo_guard"],
        "output_shields": ["demo_guard"],
        "toolgroups": ["builtin::demo", {"name": "builtin::demo_policies", "args": {"k": "v"}}],
        "client_tools": [
            LOOKUP,
            {"name": "other", "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        ],
        "tool_choice": "auto",
        "tool_prompt_format": "json",
        "tool_config": {"tool_choice": "auto", "tool_prompt_format": "json", "system_message_behavior": "append"},
        "max_infer_iters": 5,
    }
}
SESSION: dict[str, Any] = {"session_name": "a session"}
TURN: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "hello", "context": "context"},
        {"role": "user", "content": [{"type": "text", "text": "more"}, {"type": "image", "image": {"data": "aGk="}}]},
        {"role": "tool", "call_id": "c0", "content": "result"},
    ],
    "stream": False,
    "documents": [{"content": "text of it", "mime_type": "text/plain"}],
    "toolgroups": ["builtin::demo", {"name": "builtin::demo_policies", "args": {"k": "v"}}],
    "tool_config": {"tool_choice": "auto", "tool_prompt_format": "json", "system_message_behavior": "append"},
}
RESUME: dict[str, Any] = {
    "tool_responses": [{"call_id": "CALL", "tool_name": "lookup", "content": "found", "metadata": {"k": "v"}}],
    "stream": False,
}
PLAIN = {"agent_config": {"model": "scripted/fast", "instructions": "Be brief.", "client_tools": [LOOKUP]}}
WAITS = {"messages": [{"role": "user", "content": '!script\ncall lookup {"query": "kettle"}\nthen\nsay Done.'}]}


CLIENT = Client(raise_request_exception=False)
"""Made once: a client loads the middleware at its first request."""


class Road:
    """A caller and the rows it stands on. Answers are checked for what holds of all of them."""

    def __init__(self) -> None:
        self.client = CLIENT
        self.agent = self.post("/v1/agents", PLAIN).json()["agent_id"]
        self.session = self.new_session()
        self.waits: tuple[str, str] = "", ""

    def post(self, path: str, body: Any, kind: str = "application/json", **headers: str) -> Any:
        raw = body if isinstance(body, bytes | str) else json.dumps(body)
        return self.client.generic("POST", path, raw, kind, headers=headers)

    def new_session(self) -> str:
        return str(self.post(f"/v1/agents/{self.agent}/session", SESSION).json()["session_id"])

    @property
    def turn_path(self) -> str:
        return f"/v1/agents/{self.agent}/session/{self.session}/turn"

    def fresh_turn_path(self) -> str:
        """Of a session of its own: history costs."""
        self.session = self.new_session()
        return self.turn_path

    def waiting(self) -> tuple[str, str]:
        """(path of its resume, the call it waits for) of a turn that waits."""
        self.session = self.new_session()
        turn = self.post(self.turn_path, WAITS).json()
        return f"{self.turn_path}/{turn['turn_id']}/resume", turn["output_message"]["tool_calls"][0]["call_id"]


@pytest.fixture
def road(_served: None) -> Road:
    return Road()


@dataclass(frozen=True)
class Stored:
    agents: int
    sessions: int
    turns: int


def stored() -> Stored:
    return Stored(*(model.objects.unscoped("test").count() for model in (Agent, Session, Turn)))


def paths(road: Road) -> dict[str, tuple[str, Any]]:
    """(path, a valid body) of every writable route that takes one."""
    resume, call = road.waiting()
    answered = json.loads(json.dumps(RESUME).replace("CALL", call))
    return {
        "agent": ("/v1/agents", AGENT),
        "session": (f"/v1/agents/{road.agent}/session", SESSION),
        "turn": (road.turn_path, TURN),
        "resume": (resume, answered),
    }


ROUTES = ("agent", "session", "turn", "resume")


def test_the_bodies_below_are_valid(road: Road) -> None:
    """They are the ground that everything else is changed from."""
    for name, (path, body) in paths(road).items():
        path = road.fresh_turn_path() if name == "turn" else path
        response = road.post(path, body)
        assert response.status_code == 200, (name, response.content)


# ---------------------------------------------------------------------------------------------- bodies


@pytest.mark.parametrize("route", ROUTES)
def test_what_is_no_json_is_refused_and_leaves_nothing(route: str, road: Road) -> None:
    path, _ = paths(road)[route]
    before = stored()
    for name, body in NO_JSON.items():
        response = road.post(path, body)
        assert response.status_code == 400, name
        assert refusal(response)["code"] == "invalid_json", name
    assert stored() == before


@pytest.mark.parametrize("route", ROUTES)
def test_another_content_type_is_refused(route: str, road: Road) -> None:
    path, body = paths(road)[route]
    before = stored()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/html"):
        response = road.post(path, body, kind)
        assert response.status_code == 415, kind
        assert "application/json" in refusal(response)["message"]
    assert stored() == before


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;charset=bogus"]
)
def test_parameters_of_the_content_type_change_nothing(kind: str, road: Road) -> None:
    assert road.post("/v1/agents", json.dumps(AGENT).encode(), kind).status_code == 200


def test_a_body_above_the_cap_is_refused(road: Road) -> None:
    body = json.dumps(PLAIN).replace("Be brief.", "x" * (8 * 2**20 + 1))
    response = road.post("/v1/agents", body)
    assert response.status_code == 413
    assert refusal(response)["code"] == "body_too_large"


@pytest.mark.parametrize("route", ROUTES)
def test_an_empty_body_lacks_its_fields(route: str, road: Road) -> None:
    path, body = paths(road)[route]
    for raw in (b"", b"{}"):
        response = road.post(path, raw)
        assert (response.status_code, refusal(response)["param"]) == (400, next(iter(body)))


@pytest.mark.parametrize("route", ROUTES)
def test_unknown_fields_are_ignored(route: str, road: Road) -> None:
    path, body = paths(road)[route]
    path = road.fresh_turn_path() if route == "turn" else path
    many = {f"key {number}": number for number in range(10_000)}
    strange = {"__proto__": {"x": 1}, "constructor": {}, "__class__": "x", "": 1, "owner": 1, "scope": 1, "status": "x"}
    response = road.post(path, {**many, **strange, **body})
    assert response.status_code == 200, response.content[:300]


def test_of_a_key_given_twice_the_last_counts(road: Road) -> None:
    response = road.post("/v1/agents", b'{"agent_config": 1, ' + json.dumps(PLAIN).encode()[1:])
    assert response.status_code == 200
    assert road.post("/v1/agents", json.dumps(PLAIN).encode()[:-1] + b', "agent_config": 1}').status_code == 400


# ---------------------------------------------------------------------------------------------- values


def accepted(road: Road, route: str, bodies: Iterator[tuple[str, Any]]) -> list[str]:
    """Send all of them; the names of those that were taken. Everything else was refused in our shape."""
    taken = []
    for name, body in bodies:
        path, call = TARGETS[route](road)
        response = road.post(path, json.dumps(body).replace('"CALL"', json.dumps(call)))
        content = body_of(response)
        assert response.status_code < 500 or _upstream(content), (name, response.status_code, content[:300])
        if response.status_code == 200:
            taken.append(name)
        elif response.status_code < 500:
            error = refusal(response)
            assert error["param"] or response.status_code in {404, 409}, (name, error)
    return taken


def _upstream(content: bytes) -> bool:
    """Whether it was the model's fault: the scripted one cannot play every script."""
    return b'"provider_error"' in content


def _resume_target(road: Road) -> tuple[str, str]:
    """The turn that waits; another one once it has been answered."""
    if (
        not road.waits[0]
        or json_of(road.client.get(road.waits[0].removesuffix("/resume")))["status"] != "awaiting_input"
    ):
        road.waits = road.waiting()
    return road.waits


TARGETS: dict[str, Callable[[Road], tuple[str, str]]] = {
    "agent": lambda road: ("/v1/agents", ""),
    "session": lambda road: (f"/v1/agents/{road.agent}/session", ""),
    "turn": lambda road: (road.turn_path, ""),
    "resume": _resume_target,
}
BODIES = {"agent": AGENT, "session": SESSION, "turn": TURN, "resume": RESUME}


@pytest.mark.corpus
@pytest.mark.parametrize("route", ROUTES)
def test_wrong_values_in_every_place(route: str, road: Road) -> None:
    before = stored()
    taken = accepted(road, route, wrong_bodies(BODIES[route]))
    assert taken
    if route == "agent":
        assert stored().agents == before.agents + len(taken)
    all_readable(road)


@pytest.mark.corpus
@pytest.mark.parametrize("route", ROUTES)
def test_hostile_text_in_every_place(route: str, road: Road) -> None:
    taken = accepted(road, route, hostile_bodies(BODIES[route]))
    assert len(taken) >= 2
    all_readable(road)


SHORT = [name for name, text in HOSTILE.items() if len(text) <= 300]


@pytest.mark.parametrize("name", sparing(SHORT, "NUL", "control characters", "right to left", "markup", "spreadsheet"))
def test_a_name_comes_back_as_it_was_but_for_nul(name: str, road: Road) -> None:
    text, read = HOSTILE[name], HOSTILE[name].replace("\x00", "\u2400")
    agent = road.post("/v1/agents", {"agent_config": {**PLAIN["agent_config"], "name": text}}).json()["agent_id"]
    assert road.client.get(f"/v1/agents/{agent}").json()["agent_config"]["name"] == read
    session = road.post(f"/v1/agents/{agent}/session", {"session_name": text}).json()["session_id"]
    assert road.client.get(f"/v1/agents/{agent}/session/{session}").json()["session_name"] == read
    for path in (f"/agents/{agent}/", f"/sessions/{session}/", "/agents/"):
        assert road.client.get(path).status_code == 200


def all_readable(road: Road) -> None:
    """Lists and pages of everything stored still render."""
    client, seen = road.client, 0
    for path in ("/v1/logs/turns?limit=1000", "/v1/agents?limit=-1", "/logs/", "/agents/", "/logs/?q=status:failed"):
        assert client.get(path).status_code == 200, path
    for agent in json_of(client.get("/v1/agents?limit=-1"))["data"][::4]:
        assert client.get(f"/agents/{agent['agent_id']}/").status_code == 200, agent
        seen += 1
    for session in json_of(client.get(f"/v1/agents/{road.agent}/sessions?limit=-1"))["data"]:
        found = json_of(client.get(f"/v1/agents/{road.agent}/session/{session['session_id']}"))
        assert client.get(f"/sessions/{session['session_id']}/").status_code == 200
        for turn in found["turns"]:
            for view in ("", "?view=raw"):
                assert client.get(f"/turns/{turn['turn_id']}/{view}").status_code == 200, turn
    assert seen
