"""What a key's actions mean for what it uses: a key that may run runs with all that its maker sees, one
that lacks an action is told which, and what nobody would see is not there."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import ACTIONS, Action, Actor
from agents.base.store.registered import Registration
from agents.knowledge.store import files, vector_dbs
from agents.knowledge.store.files import NewFile
from agents.loop.store.registered_models import registered_models
from agents.record.schemas.content import ToolDef
from agents.safety.store import registered_shields
from agents.tools import store as toolgroups
from agents.tools.store import NewGroup
from tests.access.matrix import make_key, make_user
from tests.support.builders import make_agent, make_session
from tests.support.inprocess import inline_service, told

HELLO = [{"role": "user", "content": "hello"}]
TOOL = ToolDef(name="greet", description="Says hello.", parameters=[])
BLOCKED = [{"role": "user", "content": "a pineapple"}]


@dataclass(frozen=True)
class Place:
    """Things that ``owner`` has registered, and their agent with a session."""

    owner: Actor
    agent: str
    session: str
    file: str

    def ask(self, secret: str, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {secret}"}
        data = "" if body is None else json.dumps(body)
        return Client().generic(method, f"/v1/{path}", data, "application/json", headers=headers)

    def uses(self) -> Mapping[str, tuple[str, Any]]:
        """Requests to run with each kind of thing that can be registered."""
        say = {"messages": HELLO, "stream": False}
        document = {"type": "input_file", "file_id": self.file}
        asked = [{"role": "user", "content": [{"type": "input_text", "text": "what is in it?"}, document]}]
        return {
            "a model": ("chat/completions", {"model": "alias", "messages": HELLO}),
            "a model, as Anthropic's": ("messages", {"model": "alias", "max_tokens": 9, "messages": HELLO}),
            "a model for text": ("completions", {"model": "alias", "prompt": "hello"}),
            "a model, as Llama Stack": ("inference/chat-completion", {"model_id": "alias", "messages": HELLO}),
            "a model for vectors": ("embeddings", {"model": "vectors", "input": "hello"}),
            "a shield": ("safety/run-shield", {"shield_id": "guard", "messages": HELLO, "params": {}}),
            "moderation": ("moderations", {"input": "hello", "model": "guard"}),
            "an agent": (f"agents/{self.agent}/session/{self.session}/turn", say),
            "a guardrail": ("responses", {"model": "alias", "input": "hello", "guardrails": ["guard"]}),
            "a file": ("responses", {"model": "alias", "input": asked}),
            "a database": ("vector-io/query", {"vector_db_id": "handbook", "query": "zebra"}),
        }


USES = tuple(Place(Actor("nobody"), "", "", "").uses())


@pytest.fixture
def place(_database: None, settings: Any) -> Iterator[Place]:
    settings.REQUIRE_LOGIN = True
    logging.getLogger("django.request").setLevel(logging.CRITICAL)  # some are refused, as they should be
    with inline_service():
        yield _place(make_user("owner", teams=["red"]))
    logging.getLogger("django.request").setLevel(logging.NOTSET)


def _place(owner: Actor) -> Place:
    registered_models.add(owner, Registration("alias", "scripted", "fast", {}))
    registered_models.add(owner, Registration("vectors", "scripted", "embed", {"model_type": "embedding"}))
    registered_shields.add(owner, Registration("guard", "scripted", "x", {"phrases": ["pineapple"]}))
    group = toolgroups.register(owner, NewGroup("mcp::one", "model-context-protocol", "http://192.0.2.1/mcp"))
    toolgroups.store_listing(group.key, [TOOL], "")
    vector_dbs.register(owner, "handbook", embedding_model="keyword", embedding_dimension=4, provider_id="builtin")
    agent = make_agent(owner, model="alias", toolgroups=["mcp::one"], input_shields=["guard"])
    session = ids.public(ids.Kind.SESSION, make_session(owner, agent))
    file = files.create(owner, NewFile("a.txt", "assistants", "text/plain"), [b"some words"]).public_id
    return Place(owner, agent.public_id, session, file)


def key(of: Actor, *actions: Action) -> str:
    return make_key(of, "a key", frozenset(actions))[1]


@pytest.mark.parametrize("name", USES)
def test_a_key_that_may_run_uses_what_its_maker_sees(place: Place, name: str) -> None:
    path, body = place.uses()[name]
    answer = place.ask(key(place.owner, "run"), "POST", path, body)
    assert answer.status_code == 200, told(answer)
    whole = place.ask(key(place.owner, *ACTIONS), "POST", path, body)
    assert whole.status_code == 200, told(whole)


@pytest.mark.parametrize("name", USES)
def test_who_does_not_see_it_is_told_that_it_is_not_there(place: Place, name: str) -> None:
    path, body = place.uses()[name]
    stranger = make_user("stranger", teams=["blue"])
    for secret in (key(stranger, "run"), key(stranger, *ACTIONS)):
        answer = place.ask(secret, "POST", path, body)
        assert answer.status_code in (400, 404), told(answer)
        words = answer.json()["error"]["message"]
        assert "not found" in words or "has no model" in words


@pytest.mark.parametrize("name", USES)
def test_a_key_that_may_not_run_is_told_so(place: Place, name: str) -> None:
    path, body = place.uses()[name]
    answer = place.ask(key(place.owner, "read", "ingest", "manage"), "POST", path, body)
    code = answer.json()["error"].get("code", "missing_action")  # Anthropic's clients are told none
    assert (answer.status_code, code) == (403, "missing_action")
    assert answer.json()["error"]["message"] == "This key may not run."


def test_the_shield_that_is_used_is_the_one_that_was_registered(place: Place) -> None:
    body = {"shield_id": "guard", "messages": BLOCKED, "params": {}}
    assert place.ask(key(place.owner, "run"), "POST", "safety/run-shield", body).json()["violation"] is not None


def test_the_only_shield_there_is_need_not_be_named(place: Place) -> None:
    named = place.ask(key(place.owner, "run"), "POST", "moderations", {"input": "a pineapple"})
    assert (named.status_code, "guard" in named.json()["error"]["message"]) == (400, True)  # one of two


def test_the_tools_of_a_group_are_listed_for_who_may_run(place: Place) -> None:
    for path in ("tool-runtime/list-tools", "tool-runtime/list-tools?tool_group_id=mcp::one"):
        answer = place.ask(key(place.owner, "run"), "GET", path)
        assert "greet" in [tool["identifier"] for tool in answer.json()["data"]], path


@pytest.mark.parametrize("path", ["models/alias", "shields/guard", "toolgroups/mcp::one", "vector-dbs/handbook"])
def test_a_key_that_may_only_run_does_not_look_at_what_it_uses(place: Place, path: str) -> None:
    answer = place.ask(key(place.owner, "run"), "GET", path)
    assert (answer.status_code, answer.json()["error"]["message"]) == (403, "This key may not read.")
    assert place.ask(key(place.owner, "read"), "GET", path).status_code == 200


def test_a_key_that_may_only_manage_makes_agents_of_what_its_maker_sees(place: Place) -> None:
    config = {"model": "alias", "instructions": "", "toolgroups": ["mcp::one"], "input_shields": ["guard"]}
    made = place.ask(key(place.owner, "manage"), "POST", "agents", {"agent_config": config})
    assert made.status_code == 200, told(made)
    store = {"name": "files", "file_ids": [place.file]}
    assert place.ask(key(place.owner, "manage"), "POST", "vector_stores", store).status_code == 200


def test_a_group_is_registered_by_who_may_manage_alone(place: Place) -> None:
    manager = Actor("owner", place.owner.user_id, attributes=place.owner.attributes, actions=frozenset({"manage"}))
    new = NewGroup("mcp::two", "model-context-protocol", "http://192.0.2.1/mcp")
    assert toolgroups.register(manager, new).key == toolgroups.register(manager, new).key


# --------------------------------------------------------------------------------------------------- views


def test_a_key_that_may_only_read_keeps_no_views(place: Place) -> None:
    reading, running = key(place.owner, "read"), key(place.owner, "run")
    made = place.ask(running, "POST", "logs/views", {"name": "mine", "q": "status:failed"})
    assert made.status_code == 201, told(made)
    one = f"logs/views/{made.json()['id']}"
    assert place.ask(reading, "GET", one).json()["name"] == "mine"
    for method, path, body in (
        ("POST", "logs/views", {"name": "another"}),
        ("PATCH", one, {"name": "changed"}),
        ("DELETE", one, None),
    ):
        answer = place.ask(reading, method, path, body)
        assert (answer.status_code, answer.json()["error"]["message"]) == (403, "This key may not run.")
    assert place.ask(running, "PATCH", one, {"name": "changed"}).json()["name"] == "changed"
    assert place.ask(running, "DELETE", one).status_code == 204
