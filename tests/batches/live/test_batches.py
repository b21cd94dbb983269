"""Batches with OpenAI's client: files of requests in, files of answers and errors out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.batches.calling import MODEL, Line, begin, chat, completed, ended, read, upload
from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server


@pytest.fixture
def client(server: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_answers_and_errors_come_as_files(client: OpenAI) -> None:
    lines = [chat(f"line {number}", f"!script\nsay {number}") for number in range(20)]
    wrong = chat("wrong", temperature=9)
    made = begin(client, [*lines, "", wrong], metadata={"team": "red"})
    done = ended(client, made)

    assert (made.status, made.object, made.completion_window, made.errors) == ("validating", "batch", "24h", None)
    assert made.expires_at == made.created_at + 86_400
    assert done.request_counts is not None
    assert done.request_counts.to_dict() == {"total": 21, "completed": 20, "failed": 1}
    assert (done.status, done.metadata, done.model) == ("completed", {"team": "red"}, MODEL)
    moments = (done.created_at, done.in_progress_at, done.finalizing_at, done.completed_at)
    assert list(moments) == sorted(moment or 0 for moment in moments)
    answers, errors = read(client, done.output_file_id), read(client, done.error_file_id)
    assert list(answers) == [line["custom_id"] for line in lines]
    for number, line in enumerate(answers.values()):
        assert (line["id"][:10], line["error"], line["response"]["status_code"]) == ("batch_req_", None, 200)
        assert line["response"]["body"]["choices"][0]["message"]["content"] == str(number)
        assert line["response"]["request_id"]
    [error] = errors.values()
    assert (error["custom_id"], error["response"]["status_code"]) == ("wrong", 400)
    assert error["response"]["body"]["error"]["param"] == "temperature"
    file = client.files.retrieve(str(done.output_file_id))
    assert (file.purpose, file.filename) == ("batch_output", f"{done.id}_output.jsonl")
    spent = sum(line["response"]["body"]["usage"]["total_tokens"] for line in answers.values())
    assert done.usage is not None
    assert (done.usage.total_tokens, spent > 0) == (spent, True)
    stored = client.chat.completions.retrieve(answers["line 3"]["response"]["body"]["id"])
    assert stored.choices[0].message.content == "3"


ENDPOINTS: dict[str, tuple[Any, Callable[[Any], bool]]] = {
    "/v1/responses": ({"model": MODEL, "input": "!script\nsay Hello."}, lambda body: body["status"] == "completed"),
    "/v1/embeddings": ({"model": "scripted/embed", "input": "kettle"}, lambda body: len(body["data"]) == 1),
    "/v1/completions": (
        {"model": MODEL, "prompt": "!script\nsay Hello."},
        lambda body: body["choices"][0]["text"] == "Hello.",
    ),
}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoints(endpoint: str, client: OpenAI) -> None:
    body, is_right = ENDPOINTS[endpoint]
    lines = [{"custom_id": str(number), "method": "POST", "url": endpoint, "body": body} for number in range(3)]
    done = ended(client, begin(client, lines, endpoint))

    answers = read(client, done.output_file_id)
    assert (done.status, done.errors, done.error_file_id, len(answers)) == ("completed", None, None, 3)
    for line in answers.values():
        assert is_right(line["response"]["body"]), line
    if endpoint == "/v1/responses":
        response = answers["0"]["response"]["body"]["id"]
        assert client.responses.retrieve(response).output_text == "Hello."


def test_what_is_wrong_with_a_file_is_told_by_lines(client: OpenAI) -> None:
    elsewhere = {**chat("elsewhere"), "url": "/v1/embeddings"}
    lines: list[Line | str] = [
        chat("one"),
        "{no json",
        chat("one"),
        elsewhere,
        {**chat("get"), "method": "GET"},
        {"custom_id": "", **{name: value for name, value in chat("x").items() if name != "custom_id"}},
        {"custom_id": "no body", "method": "POST", "url": "/v1/chat/completions"},
        {**chat("no model"), "body": {}},
        chat("streams", stream=True),
        "[1]",
    ]
    done = ended(client, begin(client, lines))

    assert (done.status, done.output_file_id, done.error_file_id) == ("failed", None, None)
    assert done.failed_at
    assert done.errors is not None
    assert done.errors.data is not None
    assert [(error.line, error.code, error.param) for error in done.errors.data] == [
        (2, "invalid_json_line", None),
        (3, "duplicate_custom_id", "custom_id"),
        (4, "mismatched_endpoint", "url"),
        (5, "invalid_method", "method"),
        (6, "missing_required_parameter", "custom_id"),
        (7, "missing_required_parameter", "body"),
        (8, "missing_required_parameter", "body.model"),
        (9, "invalid_parameter", "body.stream"),
        (10, "invalid_json_line", None),
    ]


def test_a_file_without_requests_fails(client: OpenAI) -> None:
    done = ended(client, begin(client, ["", " "]))
    assert done.errors is not None
    assert [error.code for error in done.errors.data or []] == ["empty_file"]


def test_bad_requests(client: OpenAI) -> None:
    file, other = upload(client, [chat("one")]), upload(client, [chat("one")], purpose="assistants")
    right: dict[str, Any] = {
        "input_file_id": file,
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
    }
    wrongs: list[dict[str, Any]] = [
        {"endpoint": "/v1/nothing"},
        {"completion_window": "1h"},
        {"input_file_id": other},
        {"metadata": {"x" * 65: "y"}},
        {"output_expires_after": {"anchor": "created_at", "seconds": 5}},
    ]
    for wrong in wrongs:
        with pytest.raises(openai.BadRequestError) as refused:
            client.batches.create(**{**right, **wrong})
        assert str(refused.value.param).startswith(next(iter(wrong)))
    with pytest.raises(openai.NotFoundError):
        client.batches.create(**{**right, "input_file_id": "file-nobodys"})
    for call in (client.batches.retrieve, client.batches.cancel):
        with pytest.raises(openai.NotFoundError):
            call("batch_nobodys")


def test_batches_are_listed_newest_first(client: OpenAI) -> None:
    made = [begin(client, [chat("one")]).id for _ in range(3)]
    page = client.batches.list(limit=2)

    assert [batch.id for batch in page.data] == made[:0:-1]
    assert page.has_more
    following = client.batches.list(limit=1, after=made[1])
    assert [batch.id for batch in following.data] == [made[0]]


def test_a_cancelled_batch_keeps_what_it_has(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        long = [chat(f"long {number}", "!script\nwait 3s\nsay late") for number in range(30)]
        made = begin(client, [chat("first"), *long], output_expires_after={"anchor": "created_at", "seconds": 3600})
        eventually(lambda: completed(client, made))
        cancelling = client.batches.cancel(made.id)
        assert cancelling.status in ("cancelling", "cancelled")
        assert cancelling.cancelling_at
        done = ended(client, made)

        assert (done.status, bool(done.cancelled_at)) == ("cancelled", True)
        answers, errors = read(client, done.output_file_id), read(client, done.error_file_id)
        assert "first" in answers
        assert len(answers) + len(errors) == 31
        assert {line["error"]["code"] for line in errors.values()} == {"batch_cancelled"}
        file = client.files.retrieve(str(done.output_file_id))
        assert file.expires_at == file.created_at + 3600
        assert client.batches.cancel(made.id).status == "cancelled"


def test_each_request_counts_against_the_budgets_of_its_owner(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    caller = Caller(server.port)
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        assert caller.post("/v1/budgets", {"user": "local", "tokens": 1}).status == 200
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "!script\nsay Hello."}])
        done = ended(client, begin(client, [chat("one")]))

        [error] = read(client, done.error_file_id).values()
        assert (done.status, error["response"]["status_code"]) == ("completed", 429)
        assert error["response"]["body"]["error"]["code"] == "insufficient_quota"
