"""What evaluations say of turns: scores of Langfuse, feedback of LangSmith, OpenTelemetry's events."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from tests.support.builders import make_turn
from tests.support.inprocess import collect_static

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]

TRACE, ROOT, CALL = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
RUN = "01234567-89ab-7def-8123-456789abcdef"


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def send(client: Client, path: str, body: Any, expected: int, **headers: str) -> Any:
    answer = client.post(path, json.dumps(body), "application/json", headers=headers)
    assert answer.status_code == expected, answer.content
    return answer.json() if answer.content else None


def span(span_id: str, parent: str, name: str, **attributes: str) -> dict[str, Any]:
    pairs = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
    times = {"startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000001000000000"}
    return {"traceId": TRACE, "spanId": span_id, "parentSpanId": parent, "name": name, "attributes": pairs, **times}


def report_turn(client: Client, **headers: str) -> None:
    agent = span(
        ROOT, "", "invoke_agent weather", gen_ai__operation__name="invoke_agent", gen_ai__agent__name="weather"
    )
    call = span(CALL, ROOT, "chat m", gen_ai__operation__name="chat", gen_ai__request__model="m")
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [agent, call]}]}]}
    send(client, "/v1/traces", body, 200, **headers)


def feedback(client: Client, q: str = "") -> list[Any]:
    return list(client.get("/v1/feedback", {"q": q, "order": "asc"}).json()["data"])


def score(**fields: Any) -> dict[str, Any]:
    return {"id": "score-1", "traceId": TRACE, "name": "helpful", "value": 0.5, **fields}


# ------------------------------------------------------------------------------------------ Langfuse


@pytest.mark.parametrize("is_first", [True, False])
def test_a_score_becomes_feedback_whenever_it_comes(client: Client, is_first: bool) -> None:
    steps: list[Callable[[], Any]] = [
        lambda: send(client, "/api/public/scores", score(comment="Almost."), 200),
        lambda: report_turn(client),
    ]
    for step in steps if is_first else reversed(steps):
        step()
    [entry] = feedback(client, "agent:weather score.helpful:0.5")
    assert (entry["score"], entry["comment"]) == ({"name": "helpful", "value": 0.5}, "Almost.")
    assert entry["step_id"] is None
    [turn] = client.get("/v1/logs/turns").json()["data"]
    assert (turn["id"], turn["counts"]["steps"], turn["feedback"]["scores"]) == (entry["turn_id"], 1, {"helpful": 0.5})


def test_a_score_of_an_observation_is_on_its_step(client: Client) -> None:
    report_turn(client)
    send(client, "/api/public/scores", score(observationId=CALL), 200)
    send(client, "/api/public/scores", score(id="score-2", observationId=ROOT), 200)
    on_step, on_turn = feedback(client)
    [step] = client.get("/v1/logs/steps").json()["data"]
    assert (on_step["step_id"], on_turn["step_id"]) == (step["id"], None)


def test_a_score_sent_again_takes_the_place_of_the_earlier(client: Client) -> None:
    report_turn(client)
    assert send(client, "/api/public/scores", score(), 200) == {"id": "score-1"}
    send(client, "/api/public/scores", score(value=1, dataType="BOOLEAN"), 200)
    assert [entry["score"]["value"] for entry in feedback(client)] == [1.0]


def test_a_withdrawn_score_does_not_come_back(client: Client) -> None:
    report_turn(client)
    send(client, "/api/public/scores", score(), 200)
    [entry] = feedback(client)
    assert client.delete(f"/v1/feedback/{entry['id']}").status_code == 204
    assert client.delete(f"/v1/feedback/{entry['id']}").status_code == 404
    send(client, "/api/public/scores", score(id="score-2", name="tone"), 200)
    assert [entry["score"]["name"] for entry in feedback(client)] == ["tone"]


def test_a_category_is_kept_in_words(client: Client) -> None:
    report_turn(client)
    send(client, "/api/public/scores", score(value="partly right", dataType="CATEGORICAL", comment="No unit."), 200)
    [entry] = feedback(client, "comment:partly")
    assert (entry["score"], entry["comment"]) == (None, "helpful: partly right\nNo unit.")


def test_scores_come_in_a_list(client: Client) -> None:
    report_turn(client)
    assert send(client, "/api/public/scores", [score(), score(id="2", name="tone")], 202) == {"message": "Accepted"}
    told = send(client, "/api/public/scores", [score(id="3", name="third"), score(name=""), 1], 207)
    assert (told["accepted"], told["rejected"]) == (1, 2)
    assert told["errors"][0]["message"].startswith("[1].name: ")
    assert {entry["score"]["name"] for entry in feedback(client)} == {"helpful", "tone", "third"}


def test_scores_come_as_events(client: Client) -> None:
    report_turn(client)
    events = [
        {"id": "e1", "type": "score-create", "timestamp": "2026-11-20T10:00:00Z", "body": score()},
        {"id": "e2", "type": "trace-create", "body": {"id": TRACE}},
        {"id": "e3", "type": "score-create", "body": score(traceId=None, sessionId="talk")},
        "nothing",
    ]
    told = send(client, "/api/public/ingestion", {"batch": events}, 207)
    assert told["successes"] == [{"id": "e1", "status": 201}]
    assert [(error["id"], error["status"]) for error in told["errors"]] == [("e2", 400), ("e3", 400), ("3", 400)]
    assert "/api/public/otel/v1/traces" in told["errors"][0]["message"]
    assert told["errors"][1]["message"].startswith("traceId: ")
    assert len(feedback(client)) == 1


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"traceId": None}, "traceId"),
        ({"name": "x" * 101}, "name"),
        ({"name": None}, "name"),
        ({"value": None}, "value"),
        ({"value": {}}, "value"),
        ({"value": "good", "dataType": "NUMERIC"}, "value"),
        ({"value": 2, "dataType": "BOOLEAN"}, "value"),
        ({"value": 1, "dataType": "CATEGORICAL"}, "value"),
        ({"dataType": "COLOUR"}, "dataType"),
        ({"comment": "x" * 8001}, "comment"),
        ({"id": 7}, "id"),
    ],
)
def test_what_is_no_score_is_refused_with_its_field(client: Client, fields: dict[str, Any], param: str) -> None:
    error = send(client, "/api/public/scores", score(**fields), 400)["error"]
    assert (error["param"], error["message"].partition(":")[0]) == (param, param)


def test_a_key_that_only_reports_may_score(client: Client, make_user: Callable[..., Actor], settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    user = make_user("reporter", teams=["red"])
    secret, reader = (keys.create(user, name=name, actions=[name])[1] for name in ("ingest", "read"))
    basic = f"Basic {base64.b64encode(f'public:{secret}'.encode()).decode()}"
    report_turn(client, Authorization=basic)
    send(client, "/api/public/scores", score(), 200, Authorization=basic)
    send(client, "/api/public/scores", score(), 401)
    send(client, "/api/public/scores", score(), 403, Authorization=f"Bearer {reader}")
    listed = client.get("/v1/feedback", headers={"Authorization": f"Bearer {reader}"}).json()["data"]
    assert [entry["score"]["value"] for entry in listed] == [0.5]


# ------------------------------------------------------------------------------------------ LangSmith


def report_run(client: Client) -> None:
    times = {"start_time": "2026-11-20T10:00:00+00:00", "end_time": "2026-11-20T10:00:01+00:00"}
    said = {"inputs": {"question": "How warm?"}, "outputs": {"answer": "18"}}
    run = {"id": RUN, "trace_id": RUN, "name": "forecaster", "run_type": "chain", **times, **said}
    send(client, "/langsmith/runs", run, 202)


@pytest.mark.parametrize("is_first", [True, False])
def test_feedback_of_langsmith_becomes_ours(client: Client, is_first: bool) -> None:
    given = {"id": "f1", "run_id": RUN, "key": "correct", "score": True, "comment": "Yes.", "value": "right"}
    steps: list[Callable[[], Any]] = [
        lambda: send(client, "/langsmith/feedback", given, 200),
        lambda: report_run(client),
    ]
    for step in steps if is_first else reversed(steps):
        step()
    [entry] = feedback(client, "source:langsmith")
    assert (entry["score"], entry["comment"]) == ({"name": "correct", "value": 1.0}, "correct: right\nYes.")


def change(client: Client, feedback_id: str, expected: int = 200, **fields: Any) -> Any:
    """What the client's ``update_feedback`` sends: the fields to change."""
    answer = client.patch(f"/langsmith/feedback/{feedback_id}", json.dumps(fields), "application/json")
    assert answer.status_code == expected, answer.content
    return answer.json()


def test_feedback_of_langsmith_is_changed_field_by_field(client: Client) -> None:
    given = {"id": "f1", "run_id": RUN, "trace_id": RUN, "key": "correct", "score": 0, "comment": "No."}
    send(client, "/langsmith/feedback", given, 200)
    change(client, "f1", score=0.5)  # before its run is there
    report_run(client)
    [entry] = feedback(client)
    assert (entry["score"], entry["comment"]) == ({"name": "correct", "value": 0.5}, "No.")
    change(client, "f1", value="partly", comment=None)
    [entry] = feedback(client)
    assert (entry["score"], entry["comment"]) == ({"name": "correct", "value": 0.5}, "correct: partly")
    change(client, "f1", correction={"score": 1}, value=None)
    [entry] = feedback(client)
    assert (entry["score"]["value"], entry["comment"]) == (0.5, 'correction: {"score":1}')
    assert change(client, "f1", 400, score="x" * 501)["error"]["param"] == "score"
    assert change(client, "f2", 404, score=1)["error"]["message"] == "Feedback 'f2' not found."


def test_a_word_for_a_score_is_kept(client: Client) -> None:
    report_run(client)
    send(client, "/langsmith/feedback", {"id": "f1", "run_id": RUN, "key": "tone", "score": "friendly"}, 200)
    [entry] = feedback(client)
    assert (entry["score"], entry["comment"]) == (None, "tone: friendly")


@pytest.mark.parametrize("spelling", ["id", "trace", "step", "span"])
def test_scores_of_our_own_turns_are_their_feedback(client: Client, spelling: str) -> None:
    turn = make_turn(keys.local(), "say Hello.")
    step = client.get("/v1/logs/steps").json()["data"][0]["id"]
    on_step = spelling in ("step", "span")
    trace = turn.public_id if spelling == "id" else turn.public_id.replace("-", "")
    run = {"step": step, "span": step.replace("-", "")[-16:]}.get(spelling, trace)
    sent = {"id": "f1", "run_id": run, "trace_id": trace, "key": "correct", "score": 0, "value": "no", "comment": "Hm."}
    send(client, "/langsmith/feedback", sent, 200)
    send(client, "/api/public/scores", score(traceId=trace, observationId=run if on_step else None), 200)
    by_langsmith, by_langfuse = sorted(feedback(client), key=lambda entry: str(entry["score"]["name"]))
    assert by_langfuse["score"] == {"name": "helpful", "value": 0.5}
    for entry in (by_langsmith, by_langfuse):
        assert (entry["turn_id"], entry["step_id"]) == (turn.public_id, step if on_step else None)
    change(client, "f1", score=1)
    changed, _ = sorted(feedback(client), key=lambda entry: str(entry["score"]["name"]))
    assert (changed["id"], changed["score"]["value"]) == (by_langsmith["id"], 1.0)
    assert (changed["comment"], changed["created_at"]) == ("correct: no\nHm.", by_langsmith["created_at"])
    assert len(client.get("/v1/logs/turns").json()["data"]) == 1


def test_nobody_scores_turns_that_they_do_not_see(
    client: Client, make_user: Callable[..., Actor], settings: Any
) -> None:
    settings.REQUIRE_LOGIN = True
    mine, other = make_user("owner", teams=["red"]), make_user("other", teams=["blue"])
    turn = make_turn(mine, "say Hello.")
    secrets = [keys.create(user, name="k", actions=["ingest", "read"])[1] for user in (mine, other)]
    headers = [{"Authorization": f"Bearer {secret}"} for secret in secrets]
    sent = {"id": "f1", "run_id": turn.public_id, "key": "correct", "score": 0}
    send(client, "/langsmith/feedback", sent, 200, **headers[1])
    assert client.get("/v1/feedback", headers=headers[0]).json()["data"] == []
    send(client, "/langsmith/feedback", sent, 200, **headers[0])
    assert len(client.get("/v1/feedback", headers=headers[0]).json()["data"]) == 1


@pytest.mark.parametrize(
    ("fields", "param"),
    [({"run_id": None}, "run_id"), ({"key": ""}, "key"), ({"score": None}, "score"), ({"score": []}, "score")],
)
def test_what_is_no_feedback_is_refused(client: Client, fields: dict[str, Any], param: str) -> None:
    given = {"run_id": RUN, "key": "correct", "score": 1, **fields}
    assert send(client, "/langsmith/feedback", given, 400)["error"]["param"] == param


# ------------------------------------------------------------------------------------------ OpenTelemetry


def test_evaluation_events_are_feedback(client: Client) -> None:
    report_turn(client)
    said = {"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.explanation": "On the point."}
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in said.items()]
    pairs.append({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.75}})
    record = {
        "traceId": TRACE,
        "spanId": CALL,
        "eventName": "gen_ai.evaluation.result",
        "timeUnixNano": "1790000002000000000",
        "attributes": pairs,
    }
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    send(client, "/v1/logs", body, 200)
    [entry] = feedback(client)
    assert (entry["score"], entry["comment"]) == ({"name": "relevance", "value": 0.75}, "On the point.")
    assert entry["step_id"]
