"""The client of the log against a live server, as programs hold it."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agents.webhooks.wire import signature
from tests import ROOT
from tests.support.http_endpoint import Reply, answering, json_reply
from tests.support.http_endpoint import Request as Sent
from tests.support.live.process import ServerProcess, eventually
from tests.webhooks.receiver import receiving
from turnlog.client import AsyncTurnlog, InvalidRequest, NotFound, Turnlog, TurnlogError, Unreachable, logs
from turnlog.client.objects import Row, Turn
from turnlog.client.transport import Request, Resource, call
from turnlog.client.webhooks import InvalidSignature, verify

pytestmark = pytest.mark.server


@pytest.fixture
def log(server: ServerProcess) -> Iterator[Turnlog]:
    with Turnlog(server.base) as client:
        yield client


@pytest.fixture
def turns(server: ServerProcess, log: Turnlog) -> list[Turn]:
    """Three turns of an agent of the test's own, newest first."""
    name = f"client-{uuid.uuid4().hex[:8]}"
    with httpx2.Client(base_url=f"{server.base}/v1") as http:
        agent = http.post(
            "/agents", json={"agent_config": {"name": name, "model": "scripted/fast", "instructions": ""}}
        )
        path = f"/agents/{agent.json()['agent_id']}/session"
        session = http.post(path, json={"session_name": name}).json()["session_id"]
        for number in range(3):
            body = {"messages": [{"role": "user", "content": f"question {number}"}]}
            assert http.post(f"{path}/{session}/turn", json=body, timeout=60).status_code == 200
    return list(log.turns(f"agent:{name}"))


def test_rows_come_over_as_many_pages_as_there_are(
    server: ServerProcess, log: Turnlog, turns: list[Turn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "PAGE_ROWS", 2)
    query = f"agent:{turns[0].agent_name}"
    assert [turn.input_preview for turn in log.turns(query)] == ["question 2", "question 1", "question 0"]
    page = log.turns.page(query, sort="tokens", limit=2)
    rest = log.turns.page(query, sort="tokens", limit=2, after=page.next)
    assert {turn.id for turn in (*page.items, *rest.items)} == {turn.id for turn in turns}
    assert (len(page.items), rest.next) == (2, None)
    assert [row["input_preview"] for row in log.turns.records(query, limit=2)] == ["question 2", "question 1"]

    async def read() -> list[str]:
        async with AsyncTurnlog(server.base) as client:
            assert (await client.turns.get(turns[0].id)).id == turns[0].id
            return [turn.id async for turn in client.turns(query)]

    assert asyncio.run(read()) == [turn.id for turn in turns]


def test_each_level_has_rows_and_numbers(log: Turnlog, turns: list[Turn], tmp_path: Path) -> None:
    query = f"agent:{turns[0].agent_name}"
    levels: list[tuple[Any, int]] = [(log.turns, 3), (log.steps, 3), (log.sessions, 1), (log.responses, 0)]
    for level, count in levels:
        rows: list[Row] = list(level(query))
        assert (len(rows), level.stats(query).count, level.histogram(query).total) == (count, count, count)
        assert [facet.field for facet in level.facets(query, by=["agent"])] == ["agent"]
        assert sum(group.stats.count for group in level.groups(query, by=["agent"]).groups) == count
        path = level.export(query, to=tmp_path / "rows", fields=["id"])
        assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == [row.id for row in rows]
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_one_turn_is_read_whole_forked_compared_and_exported(log: Turnlog, turns: list[Turn], tmp_path: Path) -> None:
    first = turns[-1]
    whole = log.turns.whole(first.id)
    assert whole.turn["input_messages"][0]["content"] == whole.record["input"][0]["content"] == "question 0"
    forked = log.turns.fork(first.id, step=1, input="another question")
    compared = log.turns.compare(first.id, forked.turn_id)
    assert (forked.status, compared.a.id, compared.b.input_preview) == ("completed", first.id, "another question")
    lines = log.turns.export_whole(f"id:{first.id}", to=tmp_path / "whole").read_text().splitlines()
    assert [json.loads(line)["record"]["id"] for line in lines] == [first.id]
    assert log.turns.cancel(first).status == "completed"  # it had ended


def test_feedback_and_tags_are_put_and_taken_back(log: Turnlog, turns: list[Turn]) -> None:
    turn = turns[0]
    added = log.feedback.add(turn_id=turn.id, rating="up", score={"helpful": 0.5}, comment="good", tags=["seen"])
    assert (len(added.items), added.tags) == (2, ["seen"])
    assert {entry.id for entry in log.feedback.list(turn_id=turn.id)} == {entry.id for entry in added.items}
    assert {entry.id for entry in log.feedback.list(f"rating:up id:{turn.id}")} == {entry.id for entry in added.items}
    assert log.turns.get(turn.id).feedback.scores == {"helpful": 0.5}
    log.feedback.delete(added.items[0].id)
    assert len(list(log.feedback.list(turn_id=turn.id))) == 1
    assert (log.turns.tag(turn.id, "a b"), log.turns.untag(turn.id, "a b", "seen")) == (["a b", "seen"], [])


def test_budgets_webhooks_and_views_are_made_changed_and_deleted(log: Turnlog, turns: list[Turn]) -> None:
    budget = log.budgets.create(agent_id=turns[0].agent_id or "", tokens=1_000_000, usd=5)
    assert log.budgets.update(budget.id, usd=None).usd is None
    assert budget.id in [one.id for one in log.budgets.list()]
    log.budgets.delete(budget.id)
    endpoint = log.webhooks.create(name="mine", url="http://127.0.0.1:9/hook", event_types=["turn.failed"])
    assert log.webhooks.get(endpoint.id).signing_secret is None
    assert log.webhooks.update(endpoint.id, enabled=False).enabled is False
    assert log.webhooks.rotate_secret(endpoint.id).signing_secret != endpoint.signing_secret
    assert list(log.webhooks.deliveries(endpoint.id)) == []
    assert endpoint.id in [one.id for one in log.webhooks.list()]
    log.webhooks.delete(endpoint.id)
    view = log.views.create("failures", "status:failed")
    assert log.views.update(view.id, q="status:completed").q == "status:completed"
    assert view.id in [one.id for one in log.views.list()]
    log.views.delete(view.id)
    for gone in (lambda: log.budgets.get(budget.id), lambda: log.webhooks.get(endpoint.id)):
        with pytest.raises(NotFound):
            gone()
    with pytest.raises(NotFound):
        log.views.get(view.id)


def test_a_sample_is_sent_to_a_webhook_and_once_more_what_was_sent(log: Turnlog, turns: list[Turn]) -> None:
    with receiving() as receiver:
        endpoint = log.webhooks.create(name="samples", url=receiver.url, event_types=["turn.failed"])
        log.webhooks.test(endpoint.id, "turn.failed")
        [sample] = receiver.taken
        assert verify(sample.body, dict(sample.headers), endpoint.signing_secret or "")["type"] == "turn.failed"
        forked = log.turns.fork(turns[0].id, step=1, input="!script\nfail this one")
        assert (forked.status, (forked.error or {})["message"]) == ("failed", "scripted failed: this one")
        eventually(lambda: len(receiver.taken) == 2)
        sent, _ = log.webhooks.deliveries(endpoint.id)
        again = log.webhooks.resend(endpoint.id, sent.id)
        eventually(lambda: len(receiver.taken) == 3)
        assert (again.event_type, receiver.ids[1]) == ("turn.failed", receiver.ids[2])
        log.webhooks.delete(endpoint.id)


def test_what_is_to_be_asked_again_is(turns: list[Turn]) -> None:
    """A server that is busy says when; what changes something is sent again only then."""
    busy = json_reply({"error": {"message": "Busy.", "code": "server_busy"}}, 503)
    later = replace(busy, headers={**busy.headers, "Retry-After": "0"})
    whole = json_reply({"items": [turns[0].model_dump(mode="json")], "next": None, "previous": None})
    done = json_reply({"tags": ["seen"]})
    replies = [later, later, whole, later, done, busy, *[later] * 3, replace(busy, headers={"Retry-After": "600"})]
    asked: list[str] = []

    def answer(request: Sent) -> Reply:
        asked.append(request.path)
        return replies[len(asked) - 1]

    with answering(answer) as url, Turnlog(url) as log:
        assert [turn.id for turn in log.turns.page().items] == [turns[0].id]
        assert (log.feedback.delete("feedback_1"), len(asked)) == (None, 5)
        for count in (1, 3, 1):  # not asked to come again, asked once too often, asked to wait for too long
            before = len(asked)
            with pytest.raises(TurnlogError, match="Busy") as refused:
                log.feedback.delete("feedback_1")
            assert (refused.value.status, len(asked) - before) == (503, count)


def test_errors_say_what_is_wrong(log: Turnlog) -> None:
    with pytest.raises(InvalidRequest, match='Unknown field "nope"') as wrong:
        log.turns.page("nope:1")
    error = wrong.value
    assert (error.status, error.code, error.param, error.details["position"]) == (400, "query_syntax", "q", 0)
    assert error.request_id
    for turn_id in (str(uuid.uuid4()), "x OR status:completed"):
        with pytest.raises(NotFound):
            log.turns.get(turn_id)
        with pytest.raises(NotFound):
            log.turns.whole(turn_id)


def test_a_refused_export_leaves_no_file(log: Turnlog, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="there is no 'nope'"):
        log.turns.export("", to=tmp_path / "rows", fields=["nope"])
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_named() -> None:
    with (
        Turnlog("http://127.0.0.1:9") as log,
        pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:9 does not answer"),
    ):
        log.turns.page()


def test_frames_need_pandas_and_say_so(log: Turnlog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # what is not installed
    with pytest.raises(ImportError, match="needs pandas"):
        log.turns.frame()


def test_what_the_server_signs_is_verified() -> None:
    secret, body = "whsec_c2VjcmV0IG9mIGEgdGVzdA==", b'{"id":"evt_1","type":"turn.failed"}'
    headers = signature.headers("msg_1", 1_795_000_000, body, ["whsec_b3RoZXI=", secret])
    named = {name.title(): value for name, value in headers.items()}
    assert verify(body, named, secret, now_s=1_795_000_200)["type"] == "turn.failed"
    for wrong_body, wrong_secret, at in ((body + b" ", secret, 0), (body, "whsec_AAAA", 0), (body, secret, 301)):
        with pytest.raises(InvalidSignature):
            verify(wrong_body, headers, wrong_secret, now_s=1_795_000_000 + at)
    with pytest.raises(InvalidSignature):
        verify(body, {}, secret)


def test_it_knows_nothing_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "turnlog").symlink_to(ROOT / "turnlog")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import turnlog.client; "
        "print([name for name in ('django', 'agents', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def _first_request(method: call[Any, Any], resource: Any, tmp_path: Path) -> Request:
    """What a method sends first. What it must be given is a text each."""
    required = [
        name
        for name, one in inspect.signature(method.steps).parameters.items()
        if one.default is one.empty and one.kind in {one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY} and name != "self"
    ]
    values: dict[str, Any] = {name: tmp_path / "rows" if name == "to" else "x" for name in required}
    return next(method.steps(resource, **values))


def test_every_parameter_it_sends_is_described(server: ServerProcess, log: Turnlog, tmp_path: Path) -> None:
    paths = httpx2.get(f"{server.base}/v1/openapi.json", timeout=60).json()["paths"]
    described = {
        (method.upper(), re.sub(r"{\w+}", "x", path)): {one["name"] for one in operation.get("parameters", ())}
        for path, methods in paths.items()
        for method, operation in methods.items()
    }
    sent = 0
    for resource in (value for value in vars(log).values() if isinstance(value, Resource)):
        for name in (name for name in dir(type(resource)) if not name.startswith("_")):
            method = getattr(type(resource), name)
            if not isinstance(method, call) or name in {"frame"}:  # which sends what records does
                continue
            request = _first_request(method, resource, tmp_path)
            known = described[request.method, f"/v1/{request.path}"]
            assert set(request.params) <= known, (type(resource).__name__, name, set(request.params) - known)
            sent += len(request.params)
    assert sent > 60


LEFT_OUT = {
    "/v1/logs/turns/{}/called": "sub-agents' turns are rows: the query caller:<id>",
    "/v1/logs/turns/{}/steps/{}/decision": "a person decides, on the turn's page",
}


def test_it_reaches_every_route_of_the_logs(server: ServerProcess) -> None:
    """And no other than those there are."""
    paths = httpx2.get(f"{server.base}/v1/openapi.json", timeout=60).json()["paths"]
    described = {re.sub(r"{\w+}", "{}", path) for path in paths if path.startswith("/v1/logs")}
    source = "".join(path.read_text() for path in (ROOT / "turnlog/client").glob("*.py"))
    named = set(re.findall(r'"(logs/[^"]*)"', source))
    reached = set()
    for path in named:
        for level in ("turns", "sessions", "steps", "responses"):
            filled = re.sub(r"{quote\([^}]*\)}", "{}", path.replace("{self._level}", level))
            reached.add(f"/v1/{filled}")
    reached.discard("/v1/logs/responses/{}/tags")  # responses have no tags of their own
    assert reached == described - set(LEFT_OUT)
    assert set(LEFT_OUT) <= described
