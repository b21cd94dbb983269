"""The socket for every actor and every topic: nothing of others, neither at once nor when it changes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from channels.testing import WebsocketCommunicator
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.models.people import User
from agents.base.store import changes, feed_cursor
from agents.query.parser import parse
from agents.record.bus import hub
from agents.record.store import sessions
from agents.server.routing import websocket
from agents.server.socket import lists, topics
from tests.access.asking import leaks as all_leaks
from tests.access.matrix import FEW, Chain, Who, World, api_status
from tests.access.test_responses import NOTHING
from tests.support.cases import sparing

HOST = b"testserver"
PATIENCE_S = 60
"""How long a frame may take on a machine that has other things to do; none is promised within a time."""
UNAUTHENTICATED = 4401
LAST = {"live", "end", "error"}
"""After these a subscription has said what it says at once."""

LATER = 1 << 40
"""A number of the change feed behind all of the test's own."""

Frames = list[dict[str, Any]]


def headers(who: Who) -> list[tuple[bytes, bytes]]:
    """A program's handshake with its key, or a page's with its login."""
    sent = [(b"host", HOST)]
    if who.secret:
        return [*sent, (b"authorization", f"Bearer {who.secret}".encode())]
    return sent


def page_headers(who: Who) -> list[tuple[bytes, bytes]]:
    client = Client()
    assert who.login is not None
    client.force_login(User.objects.get(pk=who.login))
    cookie = f"sessionid={client.cookies['sessionid'].value}".encode()
    return [(b"host", HOST), (b"origin", b"http://" + HOST), (b"cookie", cookie)]


@asynccontextmanager
async def socket(handshake: list[tuple[bytes, bytes]], path: str = "/ws/live") -> AsyncIterator[WebsocketCommunicator]:
    made = WebsocketCommunicator(websocket, path, headers=handshake)
    hub.start()
    try:
        yield made
    finally:
        await made.disconnect()
        hub.stop()


async def said(ws: WebsocketCommunicator, topic: str, **more: Any) -> Frames:
    """All frames of a subscription up to the one that says that it is live, ended or refused."""
    await ws.send_json_to({"op": "subscribe", "id": 7, "topic": topic, **more})
    frames: Frames = []
    while not frames or frames[-1]["op"] not in LAST:
        frames.append(await ws.receive_json_from(timeout=PATIENCE_S))
    return frames


def named_topics(world: World) -> list[tuple[str, str]]:
    """(topic, what it is) for all that can be named: red, green, and what is not there."""
    unknown = {name: ids.public(kind, ids.new_key()) for name, kind in (("turn", 3), ("session", 2), ("agent", 1))}
    out = [("logs", "all")]
    for name in ("turn", "session", "agent"):
        for chain in (world.red, world.green, world.gone):
            out.append((f"{name}:{chain.ids[f'{name}_id']}", chain.name))
        out.append((f"{name}:{unknown[name]}", "unknown"))
        out.append((f"{name}:{world.red.ids['session_id' if name != 'session' else 'turn_id']}", "other kind"))
        out.append((f"{name}:no-id", "malformed"))
    return out


def beginning(who: Who, world: World) -> str:
    """The cursor before all changes; the keys for one action are the owner's."""
    return feed_cursor.at(Actor(who.name, who.login or world.owner.user_id), 0)


def leaks(told: str, who: Who, world: World, asked: str = "") -> list[str]:
    """An admin, who could see what was there, may learn that it is gone."""
    known = {world.gone.ids["turn_id"]} if who.name == "admin" else set()
    return [text for text in all_leaks(told.encode(), who, world, asked) if text not in known]


def may_open(who: Who) -> bool:
    return who.valid and "read" in who.actions


@pytest.mark.parametrize("name", FEW)
def test_a_socket_tells_only_what_may_be_seen(name: str, world: World) -> None:
    who = world.who[name]

    async def flow() -> None:
        async with socket(headers(who)) as ws:
            assert (await ws.connect(PATIENCE_S))[0]
            if not may_open(who):
                assert (await ws.receive_output(PATIENCE_S))["code"] == UNAUTHENTICATED
                return
        for topic, kind in named_topics(world):
            first = {"after": "0" if topic.startswith("turn:") else beginning(who, world)}
            for more in ({}, {"as": "html"}, {**first, "as": "html"}, {**first, "q": "zebra"}):
                if topic.startswith("turn:") and "q" in more:
                    continue
                async with socket(headers(who)) as ws:  # a socket each: they refuse a flood
                    await ws.connect(PATIENCE_S)
                    frames = await said(ws, topic, **more)
                    text = json.dumps(frames)
                    assert not leaks(text, who, world, topic), (topic, more, text)
                    assert expected(who, topic, kind, more, frames), (topic, kind, more, text)

    async_to_sync(flow)()


def expected(who: Who, topic: str, kind: str, more: dict[str, str], frames: Frames) -> bool:
    """Whether a subscription was answered as the rule says."""
    name, *_ = topic.split(":")
    seen = kind in who.sees
    if kind in {"malformed", "other kind"} or (name == "turn" and not seen):
        return [frame["op"] for frame in frames] == ["error"] and "not found" in frames[0]["error"]["message"]
    if name == "turn":
        return "kanarie" in json.dumps(frames)
    catches_up = "after" in more and (seen or (kind == "all" and bool(who.sees)))
    return ("kanarie" in json.dumps(frames)) == catches_up and frames[-1]["op"] == "live"


@pytest.mark.parametrize("name", ["outsider", "reader", "owner", "admin"])
def test_a_page_speaks_with_its_login(name: str, world: World) -> None:
    who = world.who[name]
    handshake = page_headers(who)

    async def flow() -> None:
        async with socket(handshake) as ws:
            assert (await ws.connect(PATIENCE_S))[0]
            frames = await said(ws, "logs", after=beginning(who, world))
            assert ("kanariered7f3a9" in json.dumps(frames)) == ("red" in who.sees)
            assert not leaks(json.dumps(frames), who, world)

    async_to_sync(flow)()


def turn_of(chain: Chain) -> int:
    """The key of its turn."""
    key = ids.parse(ids.Kind.TURN, chain.ids["turn_id"])
    assert key is not None
    return key


@pytest.mark.parametrize("name", ["outsider", "reader", "owner"])
def test_not_even_that_something_changed_is_told(name: str, world: World) -> None:
    """A live list says which turns it shows no longer; those never shown are not its business."""
    who = world.who[name]
    red, green, gone = map(turn_of, (world.red, world.green, world.gone))

    async def flow() -> None:
        async with socket(headers(who)) as ws:
            await ws.connect(PATIENCE_S)
            await said(ws, "logs", q="status:failed")
            hub.notify(LATER, [(ChangeKind.TURN, green), (ChangeKind.TURN, gone), (ChangeKind.TURN, red)])
            if "red" not in who.sees:
                assert await ws.receive_nothing(timeout=4 * topics.LIST_TICK_S)
                return
            frame = await ws.receive_json_from(timeout=PATIENCE_S)
            assert not leaks(json.dumps(frame), who, world)
            assert [event["type"] for event in frame["events"]] == ["row"]

    async_to_sync(flow)()


def test_cursors_go_on_at_their_own_times(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether others do something or not; and what was missed meanwhile is told to who comes back with one."""
    monkeypatch.setattr(topics, "ADVANCE_INTERVAL_S", 0.3)
    who, key = world.who["outsider"], ids.parse(ids.Kind.TURN, world.green.ids["turn_id"])
    assert key

    async def flow() -> None:
        async with socket(headers(who)) as ws:
            await ws.connect(PATIENCE_S)
            frames = await said(ws, "logs")
            for _ in range(3):
                hub.notify(LATER, [(ChangeKind.TURN, key)])
                frames.append(await ws.receive_json_from(timeout=PATIENCE_S))
            assert [(frame["op"], frame["events"]) for frame in frames[2:]] == [("events", [])] * 3
            cursors = [frame["cursor"] for frame in (frames[0], *frames[2:])]
            assert len({*cursors}) == 4
            assert len({len(cursor) for cursor in cursors}) == 1
            before, *_, after = (feed_cursor.seq_of(Actor("outsider", who.login), cursor) for cursor in cursors)
            assert (before, after) == (await sync_to_async(changes.latest)(), LATER)

    async_to_sync(flow)()


def test_a_cursor_tells_nothing_of_what_others_did(world: World) -> None:
    """It is not the same twice, and no number."""
    who = world.who["outsider"]

    async def flow() -> None:
        told = []
        for _ in range(2):
            async with socket(headers(who)) as ws:
                await ws.connect(PATIENCE_S)
                told.append((await said(ws, "logs"))[0]["cursor"])
        assert told[0] != told[1]
        assert str(await sync_to_async(changes.latest)()) not in told

    async_to_sync(flow)()


def test_a_cursor_of_nobodys_is_refused(world: World) -> None:
    who = world.who["owner"]
    theirs = beginning(world.who["outsider"], world)
    own = beginning(who, world)

    async def flow() -> None:
        for wrong in ("0", "812", "x", "é", "\0", own[:-4], own[1:], own * 9, theirs):
            async with socket(headers(who)) as ws:
                await ws.connect(PATIENCE_S)
                [frame] = await said(ws, "logs", after=wrong)
                assert (frame["op"], frame["error"]["code"], frame["error"]["param"]) == (
                    "error",
                    "unknown_cursor",
                    "after",
                ), wrong

    async_to_sync(flow)()


def test_what_others_changed_makes_nobody_load_its_page_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the number of changes at which it happens would tell how many there were."""
    monkeypatch.setattr(lists, "MAX_REPLAY", 2)

    async def flow() -> None:
        for name, op in (("outsider", "replay"), ("owner", "gap"), ("admin", "gap")):
            who = world.who[name]
            async with socket(headers(who)) as ws:
                await ws.connect(PATIENCE_S)
                assert (await said(ws, "logs", after=beginning(who, world)))[0]["op"] == op, name

    async_to_sync(flow)()


@pytest.mark.parametrize("topic", ["logs", "session", "agent"])
def test_a_query_may_be_a_tree(topic: str, world: World) -> None:
    who = world.who["owner"]
    of = "" if topic == "logs" else f":{world.red.ids[f'{topic}_id']}"
    tree = parse("kanariered7f3a9", now_us=0).tree.model_dump_json()

    async def flow() -> None:
        async with socket(headers(who)) as ws:
            await ws.connect(PATIENCE_S)
            frames = await said(ws, topic + of, q=tree, after=beginning(who, world))
            assert [frame["op"] for frame in frames] == ["replay", "live"], frames

    async_to_sync(flow)()


def test_a_list_says_what_it_shows_no_longer(world: World) -> None:
    """Of what was on the page: a turn that the query accepts no more, and one that was deleted."""
    who, fresh = world.who["owner"], world.fresh()
    key = ids.parse(ids.Kind.TURN, fresh.ids["turn_id"])
    assert key

    async def flow() -> None:
        async with socket(headers(who)) as ws:
            await ws.connect(PATIENCE_S)
            await said(ws, "logs", q=f"turn:{fresh.ids['turn_id']} OR status:failed")
            await sync_to_async(sessions.delete)(world.owner, sessions.key_of(fresh.ids["session_id"]))
            hub.notify(LATER, [(ChangeKind.TURN, key)])
            frame = await ws.receive_json_from(timeout=PATIENCE_S)
            assert frame["events"] == [{"type": "gone", "id": fresh.ids["turn_id"]}]

    async_to_sync(flow)()


def gone(frames: Frames) -> list[str]:
    return [event["id"] for frame in frames for event in frame["events"] if event["type"] == "gone"]


def delete_session_of(world: World, turn: Chain) -> None:
    sessions.delete(world.owner, sessions.key_of(turn.ids["session_id"]))


def test_a_list_says_that_a_turn_is_gone_which_it_sent_to_catch_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it was none of the newest."""
    monkeypatch.setattr(lists, "INITIAL_ROWS", 0)
    fresh = world.fresh()
    key = ids.parse(ids.Kind.TURN, fresh.ids["turn_id"])
    assert key

    async def flow() -> None:
        async with socket(headers(world.who["owner"])) as ws:
            await ws.connect(PATIENCE_S)
            frames = await said(ws, "logs", after=beginning(world.who["owner"], world))
            assert fresh.ids["turn_id"] in [event["id"] for event in frames[0]["events"]]
            await sync_to_async(delete_session_of)(world, fresh)
            hub.notify(LATER, [(ChangeKind.TURN, key)])
            assert gone([await ws.receive_json_from(timeout=PATIENCE_S)]) == [fresh.ids["turn_id"]]

    async_to_sync(flow)()


@pytest.mark.parametrize("returns", [False, True])
def test_a_list_says_what_is_gone_of_what_is_shown(world: World, returns: bool) -> None:
    """To who comes back, or whose page is older than the deletion."""
    fresh = world.fresh()
    shown = [fresh.ids["turn_id"], world.red.ids["turn_id"]]
    delete_session_of(world, fresh)

    async def flow() -> None:
        async with socket(headers(world.who["owner"])) as ws:
            await ws.connect(PATIENCE_S)
            after = beginning(world.who["owner"], world) if returns else None
            frames = await said(ws, "logs", after=after, shown=shown)
            assert gone(frames[:1]) == [fresh.ids["turn_id"]]

    async_to_sync(flow)()


def test_what_is_shown_stays_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older page, beside a newer one of the same list."""
    monkeypatch.setattr(lists, "INITIAL_ROWS", 0)
    fresh = world.fresh()
    key = ids.parse(ids.Kind.TURN, fresh.ids["turn_id"])
    assert key

    async def flow() -> None:
        async with socket(headers(world.who["owner"])) as newer, socket(headers(world.who["owner"])) as older:
            await newer.connect(PATIENCE_S)
            await older.connect(PATIENCE_S)
            await said(newer, "logs")
            await said(older, "logs", shown=[fresh.ids["turn_id"]])
            await sync_to_async(delete_session_of)(world, fresh)
            hub.notify(LATER, [(ChangeKind.TURN, key)])
            assert gone([await older.receive_json_from(timeout=PATIENCE_S)]) == [fresh.ids["turn_id"]]

    async_to_sync(flow)()


@pytest.mark.parametrize("name", ["outsider", "reader"])
def test_naming_turns_tells_nothing_of_them(name: str, world: World) -> None:
    """Foreign, deleted, unknown, of another kind or no id at all: none of them is shown, and that is all."""
    who = world.who[name]
    foreign = [world.green.ids["turn_id"], world.gone.ids["turn_id"], ids.public(ids.Kind.TURN, ids.new_key())]
    named = [*foreign, world.green.ids["agent_id"], "00000000-0000-4000-8000-000000000000", "no-id"]
    key = ids.parse(ids.Kind.TURN, world.green.ids["turn_id"])
    assert key

    async def flow() -> None:
        async with socket(headers(who)) as ws:
            await ws.connect(PATIENCE_S)
            frames = await said(ws, "logs", shown=named)
            assert sorted(gone(frames[:1])) == sorted(named)
            hub.notify(LATER, [(ChangeKind.TURN, key)])
            assert await ws.receive_nothing(timeout=4 * topics.LIST_TICK_S)

    async_to_sync(flow)()


@pytest.mark.parametrize(
    "q", sparing(["(", "step(", "count(turn)", "nothing:x", "a" * 3000, "limit:\x00:("], "count(turn)", "nothing:x")
)
@pytest.mark.parametrize("returns", [False, True])
def test_a_list_that_cannot_be_asked_for_is_refused_at_once(q: str, returns: bool, world: World) -> None:
    """Else its first change would be a mistake of ours, told in the log at every tick."""

    async def flow() -> None:
        async with socket(headers(world.who["owner"])) as ws:
            await ws.connect(PATIENCE_S)
            after = beginning(world.who["owner"], world) if returns else None
            frames = await said(ws, "logs", q=q, after=after)
            assert [frame["op"] for frame in frames] == ["error"]
            assert frames[0]["error"]["code"] == "query_syntax"

    async_to_sync(flow)()


WRONG = [
    " ",
    "{",
    "null",
    "[]",
    "1",
    '"subscribe"',
    "{}",
    '{"op":"delete"}',
    '{"op":"subscribe","id":"x"}',
    '{"op":"subscribe","id":1e400}',
    '{"op":"subscribe","id":99999999999999999999}',
    '{"op":"subscribe","topic":null}',
    '{"op":"subscribe","topic":"nothing"}',
    '{"op":"subscribe","topic":"logs","as":"xml"}',
    '{"op":"subscribe","topic":"logs","level":"items"}',
    '{"op":"subscribe","topic":"logs","after":"x"}',
    '{"op":"subscribe","topic":"logs","shown":"x"}',
    '{"op":"subscribe","topic":"logs","shown":[1]}',
    '{"op":"subscribe","topic":"logs","shown":[' + ",".join(['"x"'] * 501) + "]}",
    '{"op":"subscribe","topic":"logs","shown":["' + "x" * 100 + '"]}',
    '{"op":"subscribe","topic":"logs","after":"99999999999999999999"}',
    '{"op":"subscribe","topic":"\\ud800"}',
    '{"op":"subscribe","topic":"turn:' + "x" * 5000 + '"}',
    "[" * 50_000,
    "\x00",
]


def test_messages_that_mean_nothing_are_answered_and_forgotten(world: World) -> None:
    async def flow() -> None:
        for text in WRONG:
            async with socket(headers(world.who["owner"])) as ws:
                await ws.connect(PATIENCE_S)
                await ws.send_to(text_data=text)
                answer = await ws.receive_json_from(timeout=PATIENCE_S)
                assert (answer["op"], bool(answer["error"]["message"])) == ("error", True), text[:80]
                await ws.send_to(bytes_data=text.encode() + b"\xff")
                assert (await ws.receive_json_from(timeout=PATIENCE_S))["op"] == "error"
                assert (await said(ws, "logs"))[-1]["op"] == "live"

    async_to_sync(flow)()


def test_a_flood_of_messages_ends_the_socket(world: World) -> None:
    async def flow() -> None:
        async with socket(headers(world.who["owner"])) as ws:
            await ws.connect(PATIENCE_S)
            for _ in range(60):  # twenty a second are allowed
                await ws.send_json_to({"op": "unsubscribe", "id": 1})
            assert (await ws.receive_output(timeout=PATIENCE_S)) == {"type": "websocket.close", "code": 4008}

    async_to_sync(flow)()


@pytest.mark.parametrize("name", FEW)
def test_a_response_over_a_socket_goes_on_only_from_what_is_seen(name: str, world: World) -> None:
    """By the same rules as over HTTP; who may not run anything gets no socket."""
    who = world.who[name]

    async def flow() -> None:
        async with socket(headers(who), "/v1/responses") as ws:
            connected, _ = await ws.connect(PATIENCE_S)
            assert connected == (who.valid and bool(who.secret) and "run" in who.actions)
            if not connected:
                return
            for target in world.targets(["response_id"]):
                for store in (True, False):
                    message = {"type": "response.create", **NOTHING, "store": store}
                    message["previous_response_id"] = target.ids["response_id"]
                    await ws.send_json_to(message)
                    [told] = (await ws.receive_output(PATIENCE_S))["texts"]
                    assert not leaks(told.decode(), who, world, json.dumps(message)), told
                    hidden = json.loads(told)["error"]["code"] == "previous_response_not_found"
                    assert hidden == (api_status(who, "run", target, 200) == 404), (target.name, told)

    async_to_sync(flow)()
