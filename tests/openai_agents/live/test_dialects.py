"""One record: a session begun by one API is listed, read and continued by the others."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from llama_stack_client import LlamaStackClient
from openai import BadRequestError, OpenAI

from tests.support.depth import deep
from tests.support.live.agents_api import MODEL, NONE, Talk, agent, function, message, result, said
from tests.support.live.caller import Caller, script, user
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

HELD = "held/held"


@pytest.fixture
def llama(server: ServerProcess) -> Iterator[LlamaStackClient]:
    with LlamaStackClient(base_url=server.base) as client:
        yield client


Begin = Callable[[OpenAI, LlamaStackClient, Held], str]
"""Begins a session with one question; returns the 32 digits of its id."""


def _by_agents(client: OpenAI, llama: LlamaStackClient, first: Held) -> str:
    talk = Talk.begin(client, text=first.question, agent=agent(model=HELD))
    talk.until("idle")
    return talk.id.removeprefix("sess_")


def _by_llama(client: OpenAI, llama: LlamaStackClient, first: Held) -> str:
    made = llama.agents.create(agent_config={"model": HELD, "instructions": "Be brief."})
    session = llama.agents.session.create(made.agent_id, session_name="of llama").session_id
    llama.agents.turn.create(session, agent_id=made.agent_id, messages=[user(first.question)], stream=False)
    return session.replace("-", "")


def _by_conversations(client: OpenAI, llama: LlamaStackClient, first: Held) -> str:
    talk = client.conversations.create()
    client.responses.create(model=HELD, input=first.question, conversation=talk.id)
    return talk.id.removeprefix("conv_")


def _go_on_by_agents(client: OpenAI, llama: LlamaStackClient, digits: str, next: Held) -> None:
    with Talk(client, f"sess_{digits}").sessions.stream(f"sess_{digits}", input=next.question) as stream:
        assert stream.get_final_result().output_text == "Second."


def _go_on_by_llama(client: OpenAI, llama: LlamaStackClient, digits: str, next: Held) -> None:
    agent_id = client.beta.agents.sessions.retrieve(f"sess_{digits}").agent.id
    turn = llama.agents.turn.create(f"sess_{digits}", agent_id=agent_id, messages=[user(next.question)], stream=False)
    assert turn.output_message.content == "Second."


def _go_on_by_conversations(client: OpenAI, llama: LlamaStackClient, digits: str, next: Held) -> None:
    made = client.responses.create(model=HELD, input=next.question, conversation=f"conv_{digits}")
    assert made.output_text == "Second."


PAIRS = [
    (begin, go_on)
    for begin in (_by_agents, _by_llama, _by_conversations)
    for go_on in (_go_on_by_agents, _go_on_by_llama, _go_on_by_conversations)
    if (begin, go_on) != (_by_conversations, _go_on_by_llama)  # Llama Stack's API names a session by its agent
]


@pytest.mark.parametrize(("begin", "go_on"), PAIRS)
def test_a_session_is_continued_by_each_api(
    openai_client: OpenAI, llama: LlamaStackClient, held: HeldModel, begin: Begin, go_on: Any
) -> None:
    first, second = held.hold(), held.hold()
    first.end("First.")
    second.end("Second.")
    digits = begin(openai_client, llama, first)
    go_on(openai_client, llama, digits, second)

    [asked] = second.asked
    spoken = [(one["role"], one["content"]) for one in asked if one["role"] != "system"]
    assert spoken == [("user", first.question), ("assistant", "First."), ("user", second.question)]
    talk = Talk(openai_client, f"sess_{digits}")
    assert talk.texts() == [first.question, "First.", second.question, "Second."]
    assert [turn.status for turn in talk.turns()] == ["completed", "completed"]
    assert talk.id in [one.id for one in talk.sessions.list(limit=100)]
    of_conversation = openai_client.conversations.items.list(f"conv_{digits}", order="asc")
    assert [said(item) for item in of_conversation] == talk.texts()


@pytest.mark.parametrize("seed", range(deep(6, 100)))
def test_in_any_order_a_model_sees_the_same(
    openai_client: OpenAI, llama: LlamaStackClient, held: HeldModel, seed: int
) -> None:
    choose = random.Random(seed)
    begin = choose.choice((_by_agents, _by_llama, _by_conversations))
    roads: list[Any] = [_go_on_by_agents, _go_on_by_conversations]
    roads += [_go_on_by_llama] if begin is not _by_conversations else []
    first = held.hold()
    first.end("First.")
    digits = begin(openai_client, llama, first)
    spoken = [first.question, "First."]
    for _ in range(choose.randint(2, 5)):
        question = held.hold()
        question.end("Second.")
        choose.choice(roads)(openai_client, llama, digits, question)
        [asked] = question.asked
        assert [one["content"] for one in asked if one["role"] != "system"] == [*spoken, question.question]
        spoken += [question.question, "Second."]
    assert Talk(openai_client, f"sess_{digits}").texts() == spoken


def test_a_turn_that_waits_is_answered_by_the_other_api(openai_client: OpenAI, llama: LlamaStackClient) -> None:
    tool: Any = function("get_time", "zone")
    talk = Talk.begin(openai_client, 'call get_time {"zone": "UTC"}', "then", "say Noon.", agent=agent(tool))
    session = talk.until("requires_action")
    [action] = session.required_actions
    answer: Any = {"call_id": action.call_id, "tool_name": "get_time", "content": "noon"}
    turn = llama.agents.turn.resume(
        action.turn_id, agent_id=session.agent.id, session_id=talk.id, tool_responses=[answer], stream=False
    )
    assert turn.output_message.content == "Noon."
    assert [(item.type, item.status) for item in talk.items()][1:3] == [
        ("function_call", "completed"),
        ("function_call_output", "completed"),
    ]
    again = talk.until("idle")
    assert again.required_actions == []


def test_items_put_in_by_hand_are_in_order(openai_client: OpenAI) -> None:
    items: Any = [{"type": "message", "role": "user", "content": "Remember: blue."}]
    made = openai_client.conversations.create(items=items)
    talk = Talk(openai_client, made.id.replace("conv_", "sess_"))
    with pytest.raises(BadRequestError) as refused:
        talk.send(message(script("say Yes.")))
    assert refused.value.param == "agent.model"
    assert talk.sessions.update(talk.id, agent={"model": MODEL}).agent.model == MODEL
    with talk.sessions.stream(talk.id, input=script("say Yes.")) as stream:
        assert stream.get_final_result().output_text == "Yes."
    assert talk.texts() == ["Remember: blue.", script("say Yes."), "Yes."]
    assert talk.items(limit=1) == talk.items()


def test_a_summary_is_no_answer(openai_client: OpenAI) -> None:
    """This API has no word for it: its model is told, and its clients are not."""
    conversation = openai_client.conversations.create().id
    trigger: Any = [{"type": "compaction_trigger"}]
    for given in (script("say Yes."), trigger):
        openai_client.responses.create(model=MODEL, input=given, conversation=conversation)
    talk = Talk(openai_client, conversation.replace("conv_", "sess_"))
    assert talk.texts() == [script("say Yes."), "Yes."]
    with talk.sessions.stream(talk.id, input=script("say Again.")) as stream:
        assert stream.get_final_result().output_text == "Again."
    assert talk.texts() == [script("say Yes."), "Yes.", script("say Again."), "Again."]


def test_the_steps_of_a_turn_are_in_the_log(openai_client: OpenAI, caller: Caller) -> None:
    tool: Any = function("get_time", "zone")
    talk = Talk.begin(openai_client, 'call get_time {"zone": "UTC"}', "then", "say Noon.", agent=agent(tool))
    [action] = talk.until("requires_action").required_actions
    talk.send(result(action, "noon"))
    talk.until("idle")
    page = caller.get(f"/turns/{uuid.UUID(action.turn_id.removeprefix('turn_'))}/").body.decode()
    assert "get_time" in page
    assert "Noon." in page


def test_a_foreign_key_sees_nothing_of_it(start_server: Callable[..., ServerProcess]) -> None:
    process = start_server(LOCAL_ACCESS="false")
    keys = [process.shell(_MAKE_KEY.format(name=name)).strip() for name in ("ann", "bob")]
    with ExitStack() as stack:
        ann, bob = (
            stack.enter_context(OpenAI(base_url=f"{process.base}/v1", api_key=key, max_retries=0)) for key in keys
        )
        _check_foreign(ann, bob)


def _check_foreign(ann: OpenAI, bob: OpenAI) -> None:
    talk = Talk.begin(ann, "say Hi.")
    talk.until("idle")
    [turn] = talk.turns()
    other = Talk(bob, talk.id)
    for look in (
        other.now,
        other.items,
        other.turns,
        lambda: other.send(message("Hello")),
        lambda: other.sessions.update(talk.id, metadata={"a": "b"}),
        lambda: other.sessions.delete(talk.id),
        lambda: other.sessions.events.stream(talk.id),
        lambda: other.sessions.turns.retrieve(turn.id, session_id=talk.id),
        lambda: other.sessions.turns.items.list(turn.id, session_id=talk.id),
        lambda: other.sessions.traces.list(talk.id).data,
        lambda: other.sessions.create(agent_id=talk.now().agent.id, environment=NONE, input="Hello"),
    ):
        with pytest.raises(Exception, match=r"404|agent_not_persisted|400"):
            look()
    assert list(bob.beta.agents.sessions.list()) == []


_MAKE_KEY = """
from agents.base.models.people import User
from agents.base.store import keys
user = User.objects.create_user("{name}", password="correct horse battery")
print(keys.create(keys.of_user(user), name="{name}", actions=["read", "run", "manage"])[1])
"""
