"""What is exported as whole turns is equal once another user has imported it: in all of the record and in all stored
columns, but for ids and `EXCEPTIONS`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.record.models.turns import Step, Turn
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from tests.conftest import Clock
from tests.support.inprocess import body_of, inline_service, json_of, open_database
from tests.support.sample_turns import sample
from tests.support.whole_turns import Record, client_of, differences, exported, records
from tests.telemetry.reading import captures

LOOKUP = {"name": "lookup", "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}}}
FORMS = ["whole=true", "whole=true&format=parquet", "format=otlp"]
TOOL = 'call get_order {"order": "8841"}'
NATIVE: dict[str, tuple[str, Record]] = {
    "completed": (f"think Look it up.\n{TOOL}\nthen\nsay It is on its way.", {}),
    "failed": (f"{TOOL}\nthen\nfail 504 upstream timed out", {}),
    "failed tool": ("call no_such_tool {}\nthen\nsay Sorry.", {}),
    "cut off": ("say Half an answer\nlength", {}),
    "out of rounds": (f"{TOOL}\nthen\n{TOOL}\nthen\nsay Never.", {"max_infer_iters": 1}),
    "shielded": ("say forbidden", {"input_shields": ["demo_guard"], "output_shields": ["demo_guard"]}),
    "awaits its client": ('say Let me see.\ncall lookup {"query": "kettle"}', {"client_tools": [LOOKUP]}),
    "answered": ('call lookup {"query": "cup"}\nthen\nsay There it is.', {"client_tools": [LOOKUP]}),
    "cancelled": ('call lookup {"query": "teapot"}', {"client_tools": [LOOKUP]}),
}
"""Scripts of the model and configurations of the agent, of turns that the Agents API runs."""

HERE = "the exporting server alone knows it, to go on with the turn"
EXCEPTIONS = {
    "source": "a copy is imported, wherever the turn ran",
    "api": "no client of this server began a copy",
    "traceparent": "the trace of the request is that of the exporting server",
    "foreign": "what the import itself says of a copy",
    "steps.round": "only the loop of this server counts rounds",
    "steps.server_side": "nothing of a copy runs here",
    "stored.body.request": "settings are of the exporting server, and a copy says what it was made of",
    "stored.body.sanitized": "stored as it came, whatever was taken out of it where it ran",
    "stored.steps.price_id": "the cost comes with the turn, by whichever price",
    "stored.turn.number": "a turn that left its session leaves a gap in the numbers, and copies have none",
    "stored.turn.leg_count": "the requests are those of the exporting server",
    "stored.turn.lease_owner": HERE,
    "stored.turn.lease_epoch": HERE,
    "stored.turn.api": "no client of this server began a copy",
    "stored.turn.source": "a copy is imported, wherever the turn ran",
    "stored.steps.round": "only the loop of this server counts rounds",
    "stored.steps.server_side": "nothing of a copy runs here",
    "stored.turn.next_seq": HERE,
    "stored.turn.expires_at": HERE,
    "stored.turn.doubt_at": HERE,
    "stored.turn.actor_key": HERE,
    "agent.name": "agents of others have a name: else that of their model",
    "stored.steps.answered_by_id": "nobody of the importing server answered it; the detail has the name",
    "stored.turn.waiting_at": "nobody can answer a copy, which waits elsewhere",
    "stored.turn.iterations": "of a turn that runs they are counted at its end, of a copy each time",
    "stored.body.attachments": "a copy has the contents of the turn, and not what the sample says of it",
}
"""Why a field of the record, or a column, differs in a copy."""


@pytest.fixture(autouse=True)
def _open(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker), inline_service():
        yield


@pytest.mark.parametrize("form", FORMS)
def test_turns_of_the_agents_api_come_back_equal(form: str) -> None:
    client = Client()
    for name, (script, config) in NATIVE.items():
        path, turn = run_turn(client, script, config)
        if name == "cancelled":
            post(client, f"{path}/turn/{turn['turn_id']}/cancel", {})
        if name == "answered":
            [call] = turn["output_message"]["tool_calls"]
            answer = {"call_id": call["call_id"], "tool_name": "lookup", "content": "on the shelf"}
            post(client, f"{path}/turn/{turn['turn_id']}/resume", {"tool_responses": [answer], "stream": False})
    assert_round_trip(form)


@pytest.mark.parametrize("form", FORMS)
def test_turns_with_feedback_tags_and_metadata_come_back_equal(form: str, clock: Clock) -> None:
    sample(keys.local(), clock)
    for rows in (Turn.objects.unscoped("test"), Step.objects.unscoped("test")):
        rows.update(waited_us=None)  # the sample's are longer than its turns
    assert_round_trip(form)


@pytest.mark.parametrize("form", FORMS)
def test_turns_of_all_captures_come_back_equal(form: str) -> None:
    for name in captures.names():
        report(keys.local(), captures.spans(name))
    for name in captures.sessions():
        report(keys.local(), captures.session_spans(name))
    assert_round_trip(form, copies=1)


def test_nobody_is_asked_to_answer_a_copy() -> None:
    local, client = Client(), client_of("user")
    _, original = run_turn(local, *NATIVE["awaits its client"])
    client.post("/v1/imports", {"file": SimpleUploadedFile("turns.jsonl", exported(local, "whole=true"))})
    [copy] = [json.loads(line)["record"] for line in exported(client, "whole=true").splitlines()]
    assert copy["status"] == "awaiting_input"
    for turn, asked in ((original["turn_id"], True), (copy["id"], False)):
        assert ('class="card-part answer"' in body_of(local.get(f"/turns/{turn}/")).decode()) is asked


def run_turn(client: Client, script: str, config: Record) -> tuple[str, Record]:
    """Run a turn of a new agent; returns the path of its session, and the turn."""
    settings = {
        "model": "scripted/fast",
        "instructions": "Be brief.",
        "name": "support",
        "toolgroups": ["builtin::demo"],
    }
    agent = post(client, "/v1/agents", {"agent_config": settings | config})["agent_id"]
    path = f"/v1/agents/{agent}/session"
    path += f"/{post(client, path, {'session_name': 'order 8841'})['session_id']}"
    body = {"messages": [{"role": "user", "content": f"!script\n{script}"}], "stream": False}
    return path, post(client, f"{path}/turn", body)


def post(client: Client, path: str, body: Record) -> Record:
    answer = client.post(path, body, content_type="application/json")
    assert answer.status_code in (200, 502), body_of(answer)
    content: Record = json_of(answer)
    return content


def report(actor: Actor, spans: list[Span]) -> None:
    inbox.accept(actor, spans)
    projector.wake()


# ------------------------------------------------------------------------------------------ comparing


def assert_round_trip(form: str, copies: int = 2) -> None:
    """Users import in turn, each what the one before exports: the first copy is equal, and so is its copy."""
    client = Client()
    original, body = records(client), exported(client, form)
    assert original
    for number in range(copies):
        client = client_of(f"user {number}")
        upload = {"file": SimpleUploadedFile("turns.jsonl", body)}
        assert client.post("/v1/imports", upload).status_code == 202
        lines = list(differences(original, records(client), EXCEPTIONS))
        assert not lines, "\n".join(lines)
        body = exported(client, form)
