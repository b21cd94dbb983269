"""A server that is killed in the middle of a batch goes on with it: what has an answer is not asked again. Several
servers do no batch twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import Any

import pytest
from openai import OpenAI

from tests.batches.calling import begin, begun, chat, completed, ended, read
from tests.support.http_endpoint import Reply, Request, answering, json_reply
from tests.support.live.process import ServerProcess, eventually, running
from tests.support.live.two_servers import MARKS, two_servers

COUNT, AT_ONCE = 40, 8


class Model:
    """A model that counts how often it was asked each question, and holds its answers from the given one on."""

    def __init__(self, held_from: int) -> None:
        self.asked: Counter[str] = Counter()
        self.held, self.released = Event(), Event()
        self._held_from, self._lock = held_from, Lock()

    def answer(self, request: Request) -> Reply:
        question = json.loads(request.body)["messages"][-1]["content"]
        with self._lock:
            self.asked[question] += 1
            holds = self.asked.total() > self._held_from
        if holds and not self.released.is_set():
            self.held.set()
            self.released.wait(60)
        message = {"role": "assistant", "content": f"You said: {question}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return json_reply({"id": "x", "choices": [choice], "usage": {"prompt_tokens": 2, "completion_tokens": 3}})

    @contextmanager
    def serving(self) -> Iterator[dict[str, str]]:
        """The settings of a server that asks it."""
        with answering(self.answer) as url:
            yield {"MODEL_ENDPOINTS": json.dumps({"counting": {"base_url": f"{url}/v1"}})}


def lines() -> list[dict[str, Any]]:
    return [chat(str(number), f"question {number}", model="counting/one") for number in range(COUNT)]


def client_of(server: ServerProcess) -> OpenAI:
    return OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0)


def check(client: OpenAI, batch: Any, model: Model, most_twice: int) -> None:
    done = ended(client, batch)
    answers = read(client, done.output_file_id)
    assert (done.status, done.error_file_id) == ("completed", None)
    assert done.request_counts is not None
    assert done.request_counts.to_dict() == {"total": COUNT, "completed": COUNT, "failed": 0}
    assert {name: line["response"]["body"]["choices"][0]["message"]["content"] for name, line in answers.items()} == {
        str(number): f"You said: question {number}" for number in range(COUNT)
    }
    assert done.usage is not None
    assert done.usage.total_tokens == 5 * COUNT
    assert set(model.asked.values()) <= {1, 2}
    assert sum(count == 2 for count in model.asked.values()) <= most_twice


@pytest.mark.server
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_what_has_an_answer_is_not_asked_again(how: str, tmp_path: Path) -> None:
    model = Model(held_from=20)
    with model.serving() as environment, running(tmp_path, environment) as server:
        with client_of(server) as client:
            batch = begin(client, lines())
            assert model.held.wait(30)
            eventually(lambda: completed(client, batch) == 20)
        eventually(lambda: model.asked.total() == 20 + AT_ONCE)
        if how == "kill":
            server.kill()
        else:
            server.terminate()
        model.released.set()
        if how == "stop":
            server.wait()
        server.start()
        with client_of(server) as client:
            check(client, batch, model, most_twice=AT_ONCE)


@pytest.mark.server
def test_a_response_that_was_begun_is_found_again(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    body = {"model": "scripted/demo", "input": "!script\nwait 4s\nsay Hello."}
    with client_of(server) as client:
        requests = [{"custom_id": "one", "method": "POST", "url": "/v1/responses", "body": body}]
        batch = begin(client, requests, "/v1/responses")
        eventually(lambda: begun(client))
    server.kill()
    server.start()
    with client_of(server) as client:
        done = ended(client, batch)
        [line] = read(client, done.output_file_id).values()
        assert [response["id"] for response in begun(client)] == [line["response"]["body"]["id"]]


@pytest.mark.server
class TestSeveralServers:
    pytestmark = MARKS

    def test_each_request_is_made_by_one_of_them(self, tmp_path: Path) -> None:
        folders = tmp_path / "one", tmp_path / "two"
        for folder in folders:
            folder.mkdir()
        model = Model(held_from=20)
        with model.serving() as environment, two_servers(folders, environment) as (one, two):
            with client_of(one) as client:
                batch = begin(client, lines())
                assert model.held.wait(30)
                eventually(lambda: completed(client, batch) == 20)
            holder = one if int(one.shell(_HOLDER)) == one.pid else two
            one.close_shell()
            other = two if holder is one else one
            holder.kill()
            model.released.set()
            with client_of(other) as client:
                check(client, batch, model, most_twice=AT_ONCE)


_HOLDER = """
from agents.models import Process, RequestBatch
[holder] = RequestBatch.all_objects.values_list("claimed_by", flat=True)
print(Process.objects.get(pk=holder).pid)
"""
