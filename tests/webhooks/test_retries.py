"""A delivery that does not arrive is tried again for a day, whoever sends it; what arrives is sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agents.base import ids
from agents.base.access import Actor
from agents.base.api.cursors import cursor
from agents.base.models.people import User
from agents.base.models.processes import Process
from agents.base.timestamps import to_datetime
from agents.webhooks.models import WebhookDelivery, WebhookEvent
from agents.webhooks.runner.fan_out import fan_out
from agents.webhooks.runner.sender import MAX_PER_ENDPOINT, Sender
from agents.webhooks.store import deliveries, delivery_log, endpoints
from agents.webhooks.store.deliveries import Outcome
from agents.webhooks.store.delivery_log import DeliveryRecord
from agents.webhooks.store.endpoints import EndpointChanges, EndpointRecord
from tests.conftest import Clock
from tests.support.builders import make_turn
from tests.support.http_endpoint import Reply
from tests.webhooks.conftest import Registered, Send
from tests.webhooks.receiver import Receiver

HOUR_S, DAY_S = 3600, 86_400


def log_of(endpoint: EndpointRecord, rf: Any) -> list[DeliveryRecord]:
    return delivery_log.page(endpoint, cursor(rf.get("/")))[0]


@pytest.fixture
def sent(owner: Actor, registered: Registered, rf: Any) -> Callable[[], DeliveryRecord]:
    """The one delivery of a turn that has ended."""
    endpoint, _ = registered(owner, "turn.completed")
    make_turn(owner)

    def look() -> DeliveryRecord:
        [delivery] = log_of(endpoints.get(owner, endpoint.public_id), rf)
        return delivery

    return look


@pytest.mark.parametrize("status", [500, 404, 301, 304, 429])
def test_what_is_not_answered_2xx_is_sent_again_under_the_same_id(
    status: int, clock: Clock, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    receiver.will(status, 204)
    send()
    failed = sent()
    assert (failed.state, failed.attempts, failed.status_code) == ("pending", 1, status)
    assert 5 <= (failed.due_at - clock.now_us) / 1e6 <= 5.5
    clock.pass_s(4)
    send()
    assert len(receiver.taken) == 1
    clock.pass_s(2)
    send()
    delivered = sent()
    assert (delivered.state, delivered.attempts, delivered.status_code) == ("delivered", 2, 204)
    first, second = receiver.taken
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivered.public_id
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 6


def test_it_is_given_up_after_a_day(
    clock: Clock, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    receiver.will(500)
    began, pauses = clock.now_us, []
    send()
    while (delivery := sent()).state == "pending":
        pauses.append((delivery.due_at - clock.now_us) / 1e6)
        clock.now_us = delivery.due_at
        send()
    assert pauses == sorted(pauses)
    assert 12 <= delivery.attempts == len(receiver.taken) <= 16
    assert 18 * HOUR_S <= (clock.now_us - began) / 1e6 <= DAY_S
    assert delivery.state == "failed"
    assert delivery.answer == "said 500"


def test_an_endpoint_may_ask_for_a_pause(
    clock: Clock, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    receiver.replies = [
        Reply(status=503, headers={"Retry-After": "900"}),
        Reply(status=429, headers={"Retry-After": "²"}),
    ]
    send()
    assert sent().due_at - clock.now_us == 900_000_000
    clock.pass_s(900)
    send()
    assert 30 <= (sent().due_at - clock.now_us) / 1e6 <= 33


def test_an_endpoint_that_is_not_there_is_tried_again(
    owner: Actor, clock: Clock, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send, rf: Any
) -> None:
    [endpoint] = endpoints.page(owner, cursor(rf.get("/")))[0]
    endpoints.change(owner, endpoint.public_id, EndpointChanges(url="http://127.0.0.1:9/"))
    send()
    delivery = sent()
    assert (delivery.state, delivery.status_code) == ("pending", None)
    assert "ClientConnectorError" in delivery.error


def test_private_addresses_are_refused_when_it_is_sent(
    settings: Any, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    settings.FETCH_ALLOW_PRIVATE = False
    send()
    assert sent().error == "This URL is refused: the host '127.0.0.1' leads to an address that may not be asked."
    assert receiver.taken == []


def test_a_secret_that_cannot_be_read_any_more_is_said(
    settings: Any, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    settings.SECRET_KEY = "another" * 8
    send()
    assert "rotate it" in sent().error
    assert receiver.taken == []


def test_of_a_long_answer_the_beginning_is_kept(
    receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    receiver.replies = [Reply(b"\0\xff<script>" + b"x" * 3_000_000)]
    send()
    assert sent().state == "delivered"
    assert len(sent().answer) == 1000
    assert "<script>xx" in sent().answer


def test_what_a_process_had_claimed_is_due_again_when_it_is_gone(
    clock: Clock, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    fan_out()
    [attempt] = deliveries.claim(deliveries.due(clock.now_us, ()), "gone", clock.now_us)
    assert deliveries.due(clock.now_us, ()) == []
    send()
    assert receiver.taken == []
    clock.pass_s(61)
    send()
    assert receiver.ids == [attempt.webhook_id]
    deliveries.store(attempt, Outcome(500, "from the dead"), clock.now_us)
    assert (sent().state, sent().answer) == ("delivered", "")


def test_that_a_process_is_gone_is_noticed_before(
    clock: Clock, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    Process.objects.create(id="alive", pid=1, started_at=to_datetime(clock.now_us))
    fan_out()
    deliveries.claim(deliveries.due(clock.now_us, ()), "alive", clock.now_us)
    assert deliveries.release(clock.now_us) == 0
    Process.objects.update(ended_at=to_datetime(clock.now_us))
    assert deliveries.release(clock.now_us) == 1
    send()
    assert (sent().state, sent().attempts) == ("delivered", 2)


def test_of_several_claims_one_holds(clock: Clock, sent: Callable[[], DeliveryRecord]) -> None:
    fan_out()
    due = deliveries.due(clock.now_us, ())
    assert len(deliveries.claim(due, "one", clock.now_us)) == 1
    assert deliveries.claim(due, "one", clock.now_us) == []


def test_several_senders_send_each_once(
    owner: Actor, clock: Clock, receiver: Receiver, registered: Registered, run_async: Callable[[Any], Any]
) -> None:
    registered(owner, "turn.completed")
    turns = {make_turn(owner).public_id for _ in range(3 * MAX_PER_ENDPOINT)}

    async def go() -> None:
        senders = [Sender(lambda: "one"), Sender(lambda: "two"), Sender(lambda: "three")]
        while len(receiver.taken) < len(turns):
            await asyncio.gather(*(sender.send_due() for sender in senders))
            await asyncio.gather(*(sender.settle() for sender in senders))

    run_async(go())
    assert len(receiver.taken) == len(turns)
    assert {event["data"]["id"] for event in receiver.events} == turns


def test_an_endpoint_at_which_nothing_arrives_is_disabled(
    owner: Actor, clock: Clock, receiver: Receiver, registered: Registered, send: Send, rf: Any
) -> None:
    endpoint, _ = registered(owner, "turn.completed")
    receiver.will(500)
    for day in range(4):
        assert endpoints.get(owner, endpoint.public_id).disabled_at is None, day
        make_turn(owner)
        send()
        clock.pass_s(DAY_S)
    disabled = endpoints.get(owner, endpoint.public_id)
    assert disabled.disabled_reason == "nothing has arrived here for three days"
    assert {delivery.state for delivery in log_of(disabled, rf)} == {"failed"}
    make_turn(owner)
    assert not WebhookEvent.objects.filter(waits=True).exists()
    receiver.will(200)
    endpoints.change(owner, endpoint.public_id, EndpointChanges(enabled=True))
    make_turn(owner)
    send()
    assert log_of(disabled, rf)[0].state == "delivered"


def test_what_arrives_keeps_an_endpoint_alive(
    owner: Actor, clock: Clock, receiver: Receiver, registered: Registered, send: Send
) -> None:
    endpoint, _ = registered(owner, "turn.completed")
    receiver.will(500, 200, 500, 200, 500, 200)
    for _ in range(6):
        make_turn(owner)
        send()
        clock.pass_s(2 * DAY_S)
        WebhookDelivery.objects.filter(state=1).delete()
    assert endpoints.get(owner, endpoint.public_id).disabled_at is None


def test_gone_is_taken_at_its_word(
    owner: Actor, receiver: Receiver, registered: Registered, send: Send, rf: Any
) -> None:
    endpoint, _ = registered(owner, "turn.completed")
    receiver.will(410)
    make_turn(owner)
    send()
    found = endpoints.get(owner, endpoint.public_id)
    assert found.disabled_reason == "it answered 410 Gone"
    [delivery] = log_of(found, rf)
    assert (delivery.state, delivery.status_code) == ("failed", 410)


def test_whoever_is_switched_off_is_sent_nothing(
    owner: Actor, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send
) -> None:
    User.objects.filter(username=owner.name).update(is_active=False)
    send()
    assert receiver.taken == []
    assert sent().state == "pending"


def test_it_can_be_sent_again(
    owner: Actor, clock: Clock, receiver: Receiver, sent: Callable[[], DeliveryRecord], send: Send, rf: Any
) -> None:
    send()
    assert sent().state == "delivered"
    [endpoint] = endpoints.page(owner, cursor(rf.get("/")))[0]
    receiver.will(500, 200)
    again = delivery_log.send_again(owner, endpoint.public_id, sent().public_id)
    assert again.state == "pending"
    send()
    clock.pass_s(10)
    send()
    assert (sent().state, sent().attempts) == ("delivered", 3)
    assert len(set(receiver.ids)) == 1
    assert len({request.body for request in receiver.taken}) == 1


def test_old_events_go_with_their_deliveries(
    clock: Clock, sent: Callable[[], DeliveryRecord], send: Send, settings: Any
) -> None:
    send()
    clock.pass_s(29 * DAY_S)
    assert deliveries.expire(ids.now_us(), settings.WEBHOOK_DAYS) == 0
    clock.pass_s(2 * DAY_S)
    assert deliveries.expire(ids.now_us(), settings.WEBHOOK_DAYS) == 1
    assert not WebhookEvent.objects.exists()
    assert not WebhookDelivery.objects.exists()
