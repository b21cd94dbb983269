"""What the load client refuses to time: streams that are cut, short, wrong; sockets that lost something."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from bench.__main__ import measure
from bench.cases import pages
from bench.client import Api, Place, at_a_time, check_answers
from bench.faults import Broken, Missing
from bench.figures import Row, Spread
from bench.models import answer
from bench.report import Report
from bench.server import Launcher
from bench.sockets import faults, seen
from bench.stage import Endpoint, Stage

MODEL = "fake-2"


def frame(payload: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"event": {"payload": payload}}).encode() + b"\n\n"


def token(text: str) -> bytes:
    return frame({"event_type": "step_progress", "delta": {"type": "text", "text": text}})


START = frame({"event_type": "turn_start", "turn_id": "one"})
TOKENS = token("t000 ") + token("t001 ")
END = frame({"event_type": "turn_complete", "turn": {"output_message": {"content": answer(MODEL)}}})


def server(body: bytes, status: int = 200) -> web.Application:
    """A server whose every turn is answered with these bytes."""

    async def turn(request: web.Request) -> web.Response:
        return web.Response(body=body, status=status)

    app = web.Application()
    app.router.add_post("/v1/agents/{agent}/session/{session}/turn", turn)
    return app


async def one_turn(api: Api) -> str:
    told: list[str] = []
    timing = await api.turn(Place("a", "s"), MODEL, begun=told.append)
    check_answers([timing], MODEL)
    return "".join(told)


def test_it_times_a_whole_stream(against: Callable[..., Any]) -> None:
    assert against(server(START + TOKENS + END), one_turn) == "one"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (START + TOKENS, "did not complete"),
        (START + TOKENS + END[:-1], "did not complete"),
        (START + TOKENS + END + token("more "), "did not complete"),
        (START + TOKENS + b'data: {"error": {"message": "502"}}\n\n', "502"),
        (START + token("t000 ") + END, "1 tokens, not 2"),
        (START + TOKENS + token("t002 ") + END, "3 tokens, not 2"),
        (START + TOKENS + END.replace(b"t001", b"t002"), "the turn says"),
        (b"", "did not complete"),
    ],
)
def test_it_refuses_a_stream_that_is_not_whole(body: bytes, reason: str, against: Callable[..., Any]) -> None:
    with pytest.raises(Broken, match=reason):
        against(server(body), one_turn)


def test_it_tells_a_missing_route_from_a_fault(against: Callable[..., Any]) -> None:
    with pytest.raises(Missing):
        against(server(b"", 501), one_turn)
    with pytest.raises(Broken, match="500"):
        against(server(b"", 500), one_turn)


def test_it_ends_with_the_first_failure_of_many() -> None:
    async def job(number: int) -> int:
        if number == 3:
            raise Broken("the third")
        return number

    with pytest.raises(Broken, match="the third"):
        asyncio.run(at_a_time(2, 10, job))


def test_pages_fail_without_a_chromium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    report = measured(pages.rows, own=True)
    assert "no Chromium on this machine" in report.failed["case"]


# ------------------------------------------------------------------------------------------- sockets

EVENTS = ["turn.started", "step.started", "step.ended", "turn.ended"]


def delta(offset: int, text: str) -> dict[str, Any]:
    return {"type": "delta", "step": "s", "channel": "text", "index": 0, "offset": offset, "text": text}


def event(seq: int) -> dict[str, Any]:
    return {"type": EVENTS[seq], "seq": seq}


def frames(*batches: list[dict[str, Any]], op: str = "events") -> list[tuple[float, str]]:
    return [(1.0, json.dumps({"id": 1, "op": op, "events": batch})) for batch in batches]


WHOLE = [[event(0)], [event(1), delta(0, "ab")], [delta(2, "cd"), event(2)], [event(3)]]


def test_it_is_content_with_a_watcher_who_saw_everything() -> None:
    assert list(faults(seen(frames(*WHOLE)), "abcd")) == []


@pytest.mark.parametrize(
    ("batches", "reason"),
    [
        ([WHOLE[0], *WHOLE[2:]], "character 2 after 0"),
        ([*WHOLE[:2], *WHOLE[1:]], "came as"),
        ([*WHOLE[:2], [delta(0, "abcd")], *WHOLE[2:]], "character 0 after 2"),
        ([*WHOLE[:2], [event(2)], WHOLE[3]], "2 characters, 4 are stored"),
        (WHOLE[:3], "the last event was step.ended"),
        ([], "the last event was none"),
    ],
)
def test_it_finds_what_a_watcher_lost_or_saw_twice(batches: list[list[dict[str, Any]]], reason: str) -> None:
    assert any(reason in fault for fault in faults(seen(frames(*batches)), "abcd"))


def test_it_counts_a_gap_as_a_loss() -> None:
    found = seen([*frames(*WHOLE[:3]), (1.0, '{"id":1,"op":"gap"}'), *frames(WHOLE[3])])

    assert list(faults(found, "abcd")) == ['{"id":1,"op":"gap"}']


# --------------------------------------------------------------------------------------------- cases


def stage(own: bool) -> Stage:
    """One that no case here asks for more than whose server it is."""
    none: Any = None
    return Stage(none, Endpoint("", 0), None, Launcher(none, none, "") if own else None)


def measured(case: Callable[[Stage], AsyncIterator[Row]], *, own: bool) -> Report:
    report = Report("a server", Spread(0.0, 0.0, 1))
    asyncio.run(measure("case", case, stage(own), report))
    return report


async def lacking(stage: Stage) -> AsyncIterator[Row]:
    yield Row("before", "", 1, "")
    raise Missing("GET /v1/agents: 404")


async def lone(stage: Stage) -> AsyncIterator[Row]:
    stage.own()
    yield Row("after", "", 1, "")


async def misread(stage: Stage) -> AsyncIterator[Row]:
    made: dict[str, str] = {"error": "busy"}
    yield Row(made["agent_id"], "", 1, "")


def test_it_skips_what_another_server_has_not_with_the_reason() -> None:
    assert measured(lacking, own=False).skipped == {"case": "GET /v1/agents: 404"}
    assert measured(lone, own=False).skipped == {"case": "it needs to start the server itself"}


def test_it_fails_our_own_server_for_the_same() -> None:
    report = measured(lacking, own=True)

    assert report.failed == {"case": "GET /v1/agents: 404"}
    assert [row.what for row in report.rows] == ["before"]


def test_it_fails_on_an_answer_of_another_shape() -> None:
    assert "agent_id" in measured(misread, own=False).failed["case"]
