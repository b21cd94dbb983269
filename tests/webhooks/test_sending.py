"""What turns and responses come to is sent to their owner's endpoints: signed, and once where it arrives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from openai import InvalidWebhookSignatureError

from agents.base import ids
from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.openai_agents.wire.sessions import session_id
from agents.record.models.turns import Turn
from agents.record.schemas.events import ErrorInfo
from agents.record.store import closing, decisions, sessions
from agents.record.store.closing import TurnEnding
from agents.record.store.decisions import Decision
from agents.webhooks.models import WebhookEvent
from agents.webhooks.schemas.event_types import BY_NAME, EVENT_TYPES
from agents.webhooks.store import endpoints
from agents.webhooks.store.endpoints import EndpointChanges
from tests.conftest import Clock
from tests.loop.play import LOOKUP
from tests.support.builders import make_response, make_turn
from tests.support.doubtful_turns import make_doubtful
from tests.support.http_endpoint import Request
from tests.webhooks.conftest import Registered, Send
from tests.webhooks.receiver import Receiver

Unwrap = Callable[[Request, str], Any]
WAITING: Mapping[str, Any] = {"script": 'call lookup {"query": "1"}', "client_tools": [LOOKUP]}


@pytest.fixture
def present(clock: Clock) -> Clock:
    """A frozen clock that stands where that of the machine does: who checks a signature looks at that."""
    clock.now_us = time.time_ns() // 1000
    return clock


def close(turn: int, ending: TurnEnding) -> None:
    statuses = (*closing.RUNNING, *closing.WAITING)
    assert writer.write(partial(closing.close_turn, turn, ending, statuses=statuses))


def test_a_turn_that_ends_is_sent_and_signed(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send, unwrap: Unwrap, present: Clock
) -> None:
    _, secret = registered(owner, "turn.completed")
    turn = make_turn(owner, "say Hello.")
    send()
    [request] = receiver.taken
    event = unwrap(request, secret)
    assert (event.type, event.object, event.data.id) == ("turn.completed", "event", turn.public_id)
    assert event.data.session_id == ids.public(ids.Kind.SESSION, turn.session)
    assert event.data.agent_id == ids.public(ids.Kind.AGENT, turn.agent.key)
    assert event.id.startswith("evt_")
    assert receiver.ids[0].startswith("wh_")
    assert b"Hello" not in request.body  # what was said is for those who ask with a key
    with pytest.raises(InvalidWebhookSignatureError):
        unwrap(Request(request.path, request.headers, request.body + b" "), secret)


def test_each_end_has_its_type(owner: Actor, receiver: Receiver, registered: Registered, send: Send) -> None:
    registered(owner)
    make_turn(owner, "say Hello.")
    make_turn(owner, "fail 502 no")
    waiting = make_turn(owner, **WAITING)
    running = make_turn(owner, upto=2)
    send()
    close(waiting.turn, TurnEnding("cancelled", "input_timeout"))
    close(running.turn, TurnEnding("interrupted", "server_stopped", ErrorInfo(type="server_error", message="gone")))
    send()
    expected = ["turn.completed", "turn.failed", "turn.awaiting_input", "turn.cancelled", "turn.interrupted"]
    assert sorted(receiver.types) == sorted(expected)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("say Hello.", "response.completed"),
        ("say Hello.\nlength", "response.incomplete"),
        ("fail 502 no", "response.failed"),
    ],
)
def test_a_response_in_the_background_is_sent_in_the_words_of_openai(
    script: str,
    expected: str,
    owner: Actor,
    receiver: Receiver,
    registered: Registered,
    send: Send,
    unwrap: Unwrap,
    present: Clock,
) -> None:
    _, secret = registered(owner, *(kind.name for kind in EVENT_TYPES if kind.subject == "response"))
    make_response(owner, script)
    made = make_response(owner, script, background=True)
    send()
    [request] = receiver.taken
    event = unwrap(request, secret)
    assert type(event).__name__ == f"Response{expected.partition('.')[2].capitalize()}WebhookEvent"
    assert event.data.to_dict() == {"id": made.public_id}


def test_only_the_chosen_ends_of_a_response_are_sent(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    registered(owner, "response.incomplete")
    make_response(owner, "say Hello.", background=True)
    made = make_response(owner, "say Hello.\nlength", background=True)
    send()
    assert [event["data"]["id"] for event in receiver.events] == [made.public_id]


def test_a_response_that_waits_is_completed_and_its_turn_waits(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    registered(owner)
    make_response(owner, **WAITING, background=True)
    send()
    assert sorted(receiver.types) == ["response.completed", "turn.awaiting_input"]


def test_a_call_in_doubt_is_told_once(owner: Actor, receiver: Receiver, registered: Registered, send: Send) -> None:
    registered(owner, "turn.in_doubt", "turn.awaiting_input")
    doubtful = make_doubtful(owner)
    send()
    [event] = receiver.events
    assert (event["type"], event["data"]["id"]) == ("turn.in_doubt", doubtful.made.public_id)
    decisions.decide(owner, doubtful.made.turn, [Decision(doubtful.steps[0], "done")])
    send()
    assert len(receiver.taken) == 1


@pytest.mark.parametrize(
    ("turn", "expected", "data"),
    [
        ({"script": "say Hello."}, "idle", {"environment_type": "none"}),
        ({"script": "fail 502 no"}, "idle", {"environment_type": "none"}),
        (WAITING, "action_required", {"required_action": {"type": "function_call"}}),
    ],
)
def test_a_session_of_an_agent_is_told_of_in_the_words_of_openai(
    turn: Mapping[str, Any],
    expected: str,
    data: dict[str, Any],
    owner: Actor,
    receiver: Receiver,
    registered: Registered,
    send: Send,
    unwrap: Unwrap,
    present: Clock,
) -> None:
    _, secret = registered(owner, *(kind.name for kind in EVENT_TYPES if kind.subject == "session"))
    made = make_turn(owner, **turn)
    make_response(owner, "say Hello.")  # of no agent
    send()
    [request] = receiver.taken
    event = unwrap(request, secret)
    names = {"idle": "AgentSessionIdleWebhookEvent", "action_required": "AgentSessionActionRequiredWebhookEvent"}
    assert type(event).__name__ == names[expected]
    assert event.data.to_dict() == {"id": session_id(made.session), **data}


def test_nobody_hears_of_what_is_not_theirs(
    owner: Actor, member: Actor, admin: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    registered(owner)
    registered(admin)
    make_turn(member)
    send()
    assert receiver.taken == []


def test_each_endpoint_is_sent_what_it_hears_of(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    registered(owner, "turn.completed", "turn.failed")
    registered(owner, "turn.completed")
    off, _ = registered(owner)
    endpoints.change(owner, off.public_id, EndpointChanges(enabled=False))
    make_turn(owner)
    make_turn(owner, "fail 502 no")
    send()
    assert sorted(receiver.types) == ["turn.completed", "turn.completed", "turn.failed"]
    assert len({event["id"] for event in receiver.events}) == 2
    assert len(set(receiver.ids)) == 3


def test_without_an_endpoint_nothing_is_written(owner: Actor, registered: Registered, send: Send) -> None:
    registered(owner, "turn.failed")
    make_turn(owner)
    make_response(owner, background=True)
    assert not WebhookEvent.objects.exists()


def test_of_what_is_deleted_before_nothing_is_sent(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    registered(owner)
    turn = make_turn(owner)
    made = make_response(owner, background=True)
    sessions.delete(owner, turn.session)
    sessions.delete(owner, made.session)
    send()
    assert receiver.taken == []
    assert not WebhookEvent.objects.exists()


def test_a_turn_that_ends_again_is_sent_again(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send
) -> None:
    registered(owner, "turn.awaiting_input", "turn.cancelled")
    waiting = make_turn(owner, **WAITING)
    close(waiting.turn, TurnEnding("cancelled", "new_message"))
    send()
    assert sorted(receiver.types) == ["turn.awaiting_input", "turn.cancelled"]


def test_a_secret_that_is_rotated_signs_for_a_day_beside_the_new_one(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send, unwrap: Unwrap, present: Clock
) -> None:
    endpoint, old = registered(owner, "turn.completed")
    _, new = endpoints.rotate_secret(owner, endpoint.public_id, keeps_old=True)
    make_turn(owner)
    send()
    assert len(str(receiver.taken[0].headers["webhook-signature"]).split()) == 2
    for secret in (old, new):
        assert unwrap(receiver.taken[0], secret).type == "turn.completed"
    present.pass_s(24 * 3600)
    make_turn(owner)
    send()
    assert len(str(receiver.taken[1].headers["webhook-signature"]).split()) == 1


def test_a_secret_that_is_rotated_at_once_signs_no_more(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send, unwrap: Unwrap, present: Clock
) -> None:
    endpoint, old = registered(owner, "turn.completed")
    _, new = endpoints.rotate_secret(owner, endpoint.public_id, keeps_old=False)
    make_turn(owner)
    send()
    assert unwrap(receiver.taken[0], new).type == "turn.completed"
    with pytest.raises(InvalidWebhookSignatureError):
        unwrap(receiver.taken[0], old)


def test_only_turns_that_ran_here_are_sent(owner: Actor, registered: Registered) -> None:
    registered(owner)
    turn = make_turn(owner, upto=2)
    Turn.objects.unscoped("test").filter(pk=turn.turn).update(source=2)
    close(turn.turn, TurnEnding("cancelled", "over"))
    assert not WebhookEvent.objects.exists()


def test_the_numbers_of_types_stay() -> None:
    assert {name: kind.number for name, kind in BY_NAME.items()} == {
        "turn.completed": 0,
        "turn.failed": 1,
        "turn.cancelled": 2,
        "turn.interrupted": 3,
        "turn.awaiting_input": 4,
        "turn.in_doubt": 5,
        "response.completed": 10,
        "response.failed": 11,
        "response.cancelled": 12,
        "response.incomplete": 13,
        "agent.session.idle": 20,
        "agent.session.action_required": 21,
    }
