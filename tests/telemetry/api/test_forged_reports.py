"""Reports in another user's name: the same agent, service, session, trace, spans and ids of answers as hers. They
change nothing that she has, and show nothing of it to who sent them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from agents.base.models.people import GroupAttributes, User
from agents.base.store import keys
from tests.support.inprocess import body_of, collect_static, inline_service, open_database
from tests.telemetry.api.test_reports import langsmith_run
from tests.telemetry.reading import reports

pytestmark = pytest.mark.usefixtures("_quiet")
BOTH, JSON = ["read", "ingest"], "application/json"
SECRET = "The vault is under the stairs."


class Person:
    """Somebody with a key and a browser."""

    def __init__(self, name: str, team: str = "") -> None:
        user = User.objects.create_user(name)
        if team:
            group = Group.objects.get_or_create(name=team)[0]
            GroupAttributes.objects.get_or_create(group=group, defaults={"attributes": {"teams": [team]}})
            user.groups.add(group)
        self.headers = {"Authorization": f"Bearer {keys.create(keys.of_user(user), name='key', actions=BOTH)[1]}"}
        self.api, self.browser = Client(), Client()
        self.browser.force_login(user)

    def get(self, path: str, **query: str) -> Any:
        answer = self.api.get(path, query, headers=self.headers)
        assert answer.status_code == 200, (path, answer.content)
        return answer

    def rows(self, of: str) -> list[Any]:
        return list(self.get(f"/v1/logs/{of}").json()["data"])

    def send(self, path: str, body: Any, kind: str = JSON) -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body)
        answer = self.api.post(path, data, content_type=kind, headers=self.headers)
        assert answer.status_code in (200, 202), answer.content
        return answer

    def report(self, *spans: Any) -> None:
        self.send("/v1/traces", reports.request(*spans))

    def log(self, *own: str) -> Any:
        """All of it, as the API and pages have it; or of these turns."""
        turns = [row for row in self.rows("turns") if row["id"] in own or not own]
        exports = [
            body_of(self.get("/v1/logs/turns/export", **form)) for form in ({"whole": "true"}, {"format": "otlp"})
        ]
        wholes = [
            self.get(f"/v1/agents/{row['agent_id']}/session/{row['session_id']}/turn/{row['id']}").json()
            for row in turns
        ]
        raw = [self.browser.get(f"/turns/{row['id']}/spans.jsonl").content for row in turns]
        listed = self.get("/v1/agents").json(), self.get("/v1/feedback").json(), self.rows("steps")
        return (turns, wholes, raw) if own else (turns, wholes, exports, raw, listed)


@pytest.fixture(autouse=True)
def _open(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    collect_static()
    with open_database(django_db_blocker), inline_service():
        yield


@pytest.fixture
def people(settings: Any) -> tuple[Person, Person]:
    """The owner of what is told, and a stranger."""
    settings.REQUIRE_LOGIN = True
    return Person("owner"), Person("stranger")


def told(answered: str, trace: int = 1, at: float = 0.0) -> list[Any]:
    """A turn whose calls have the same ids, whoever tells it."""
    spans = reports.turn(trace, "Where is it?", answered, at=at, **{"user.id": "owner"})
    for number, span in enumerate(spans):
        span["attributes"] += reports.attributes({"gen_ai.response.id": f"msg_{trace}{number}"})
    return spans


def assert_untouched(owner: Person, before: Any, stranger: Person) -> None:
    assert owner.log() == before
    assert all(before)
    turns, wholes, exports, raw, listed = stranger.log()
    assert SECRET not in str((turns, wholes, exports, raw, listed))
    owners = {row["id"] for row in before[0]} | {row["session_id"] for row in before[0]}
    assert not owners & ({row["id"] for row in turns} | {row["session_id"] for row in turns})
    for row in before[0]:
        assert stranger.browser.get(f"/turns/{row['id']}/").status_code == 404
        assert stranger.browser.get(f"/turns/{row['id']}/spans.jsonl").status_code == 404
    for path in ("/logs/", "/agents/", "/", "/connect/"):
        assert SECRET not in stranger.browser.get(path).content.decode()


@pytest.mark.parametrize("is_first", [True, False])
def test_the_same_ids_are_two_turns(people: tuple[Person, Person], is_first: bool) -> None:
    owner, stranger = people
    if not is_first:
        stranger.report(*told("Nowhere.", at=1))
    owner.report(*told(SECRET))
    before = owner.log()
    assert [row["output_preview"] for row in before[0]] == [SECRET]
    stranger.report(*told("Nowhere.", at=1))
    assert [row["output_preview"] for row in stranger.rows("turns")] == ["Nowhere."]
    assert_untouched(owner, before, stranger)


def test_a_colleague_who_may_read_them_changes_nothing(settings: Any) -> None:
    settings.REQUIRE_LOGIN = True
    owner, colleague = Person("owner", "red"), Person("colleague", "red")
    owner.report(*told(SECRET))
    [own] = [row["id"] for row in owner.rows("turns")]
    before = owner.log(own)
    assert colleague.log(own) == before
    colleague.report(*told("Nowhere.", at=1))
    assert owner.log(own) == colleague.log(own) == before
    assert sorted(row["output_preview"] for row in owner.rows("turns")) == ["Nowhere.", SECRET]


def test_a_part_of_her_trace_is_no_part_of_her_turn(people: tuple[Person, Person]) -> None:
    """A step below her root, the rest of a turn of hers that still goes on, a record and a score of her call."""
    owner, stranger = people
    first, tool, last, root = told(SECRET)
    owner.report(first, tool, last, root)
    owner.report(*told(SECRET, trace=2)[:-1])
    end = told("Nowhere.", trace=2)[-1]
    before = owner.log()
    below = reports.span(1, 77, "execute_tool", parent=1, at=0.5, gen_ai__operation__name="execute_tool")
    stranger.report(below, {**end, "status": {"code": 2, "message": "stopped"}})
    record = {"traceId": last["traceId"], "spanId": last["spanId"], "body": {"stringValue": "No."}, "eventName": "x"}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    stranger.send("/v1/logs", logs)
    for name in ({"traceId": last["traceId"]}, {"traceId": last["traceId"], "observationId": last["spanId"]}):
        stranger.send("/api/public/scores", {"name": "bad", "value": 0, **name})
    assert_untouched(owner, before, stranger)


def test_the_history_of_her_conversation_leads_nowhere(people: tuple[Person, Person]) -> None:
    """Calls without an agent find their conversation by what they repeat, and an answer's id finds its call."""
    owner, stranger = people
    chat: dict[str, Any] = {
        "gen_ai__operation__name": "chat",
        "gen_ai__request__model": "m",
        "gen_ai__response__id": "a",
    }
    answer: dict[str, Any] = {"gen_ai__output__messages": reports.text("assistant", SECRET)}
    owner.report(reports.span(5, 1, "chat", gen_ai__input__messages=reports.text("user", "Where?"), **chat, **answer))
    before = owner.log()
    history = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": SECRET},
        {"role": "user", "content": "And the key?"},
    ]
    guessed: dict[str, Any] = {
        "gen_ai__input__messages": json.dumps(history),
        "gen_ai__output__messages": reports.text("assistant", "No."),
    }
    stranger.report(reports.span(6, 1, "chat", at=2, **chat, **guessed))
    stranger.report(reports.span(7, 1, "chat", at=0.2, takes=0.1, **chat, gen_ai__usage__input_tokens=9))
    turns = stranger.rows("turns")
    assert all(row["usage"]["input_tokens"] in (None, 0, 9) for row in turns)
    assert owner.log() == before
    assert not {row["session_id"] for row in turns} & {row["session_id"] for row in before[0]}


def test_runs_of_langsmith_are_their_senders(people: tuple[Person, Person]) -> None:
    owner, stranger = people
    run = langsmith_run()
    owner.send("/langsmith/runs", run)
    before = owner.log()
    assert len(before[0]) == 1
    ended = {"outputs": {"output": "Stopped."}, "error": "Stopped.", "end_time": "2026-11-20T10:00:09Z"}
    patch = {"id": run["id"], "trace_id": run["trace_id"], **ended}
    stranger.send("/langsmith/runs/batch", {"patch": [patch], "post": [{**run, "name": "other"}]})
    stranger.send("/langsmith/feedback", {"run_id": run["id"], "trace_id": run["trace_id"], "key": "bad", "score": 0})
    assert_untouched(owner, before, stranger)


@pytest.mark.parametrize("form", [{"whole": "true"}, {"format": "otlp"}])
def test_her_own_export_is_a_copy_to_another(people: tuple[Person, Person], form: dict[str, str]) -> None:
    """Of turns that ran here too: an import names no turn that is not the importer's."""
    owner, stranger = people
    owner.report(*told("It is here."))
    before = owner.log()
    data = body_of(owner.get("/v1/logs/turns/export", **form))
    forged = data.replace(b"It is here.", b"It is gone.")
    assert forged != data
    if "format" in form:
        for line in forged.splitlines():
            stranger.send("/v1/traces", line)
    else:
        file = SimpleUploadedFile("turns.jsonl", forged)
        answer = stranger.api.post("/v1/imports", {"file": file, "format": "turns"}, headers=stranger.headers)
        assert answer.status_code in (200, 201, 202), answer.content
    assert_untouched(owner, before, stranger)
    assert [row["output_preview"] for row in stranger.rows("turns")] == ["It is gone."]
