"""Answers that are large: lists end early and say so, single objects come whole, and neither stays in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event
from typing import Any

import pytest

from agents.base import shares
from agents.base.api import large_answers
from agents.base.store import portions
from tests.server.api.test_bad_input import CLIENT
from tests.support.inprocess import body_of, json_of

pytestmark = pytest.mark.usefixtures("_served")

MODEL = "scripted/fast"
PAGE = 256 * 1024
"""Bytes of a page here, so that large is not long."""
HALF = "x" * (PAGE // 2)
"""Two of it, with what stands around them, are more than a page."""
SAID, WORD = 100, "abcdefghijklmno" * 80
"""A long answer: so many of these words."""
LETTERS = SAID * (len(WORD) + 1) - 1


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions, "PAGE_BYTES", PAGE)
    for module, name in ((portions, "TOGETHER_BYTES"), (large_answers, "MAX_IN_MEMORY")):
        monkeypatch.setattr(module, name, PAGE // 4)


def post(path: str, **body: Any) -> Any:
    answer = CLIENT.post(path, body, content_type="application/json")
    assert answer.status_code in (200, 201), body_of(answer)
    return json_of(answer)


def get(path: str) -> Any:
    answer = CLIENT.get(path)
    body = body_of(answer)
    assert answer.status_code == 200, body
    if len(body) > large_answers.MAX_IN_MEMORY:  # read from disk, as its reader takes it
        assert answer.streaming
        assert answer["Content-Length"] == str(len(body))
    return json.loads(body)


Walk = Iterator[list[dict[str, Any]]]


def pages(next_page: Callable[[list[dict[str, Any]]], str]) -> Walk:
    """The pages of a list one after the other."""
    seen: list[dict[str, Any]] = []
    while True:
        found = get(next_page(seen))
        assert found["data"]
        yield found["data"]
        seen += found["data"]
        if not found["has_more"]:
            return


def by_cursor(path: str, name: str = "after") -> Walk:
    joint = "&" if "?" in path else "?"
    return pages(lambda seen: f"{path}{joint}{name}={seen[-1]['id']}" if seen else path)


def flat(walk: Walk) -> list[dict[str, Any]]:
    return [one for page in walk for one in page]


def new_agent(**config: Any) -> str:
    return str(post("/v1/agents", agent_config={"model": MODEL, "instructions": "Be brief.", **config})["agent_id"])


def test_a_list_of_large_agents_ends_early() -> None:
    made = [new_agent(instructions=HALF) for _ in range(3)]
    small = [new_agent() for _ in range(3)]
    found = list(pages(lambda seen: f"/v1/agents?start_index={len(seen)}&limit=1000"))
    assert [[one["agent_id"] for one in page] for page in found] == [
        [*reversed(small), made[2]],
        [made[1]],
        [made[0]],
    ]
    assert found[1][0]["agent_config"]["instructions"] == HALF
    assert get(f"/v1/agents/{made[0]}") == found[2][0]


def test_an_agent_larger_than_a_page_is_a_page() -> None:
    made = [new_agent(instructions="y" * (PAGE + 1000)) for _ in range(2)]
    found = list(pages(lambda seen: f"/v1/agents?start_index={len(seen)}"))
    assert [[one["agent_id"] for one in page] for page in found] == [[made[1]], [made[0]]]


def test_a_list_of_large_completions_ends_early() -> None:
    messages = [{"role": "user", "content": HALF}]
    made = [post("/v1/chat/completions", model=MODEL, messages=messages)["id"] for _ in range(3)]
    found = list(by_cursor("/v1/chat/completions"))
    assert [[one["id"] for one in page] for page in found] == [[made[2]], [made[1]], [made[0]]]
    assert get(f"/v1/chat/completions/{made[1]}") == found[1][0]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_list_of_large_responses_ends_early(order: str) -> None:
    made = [post("/v1/responses", model=MODEL, input=f"!script repeat {SAID} {WORD}")["id"] for _ in range(3)]
    asked = [post("/v1/responses", model=MODEL, input=HALF)["id"] for _ in range(2)]
    expected = [*made, *asked] if order == "asc" else [*reversed(asked), *reversed(made)]
    found = list(by_cursor(f"/v1/responses?order={order}"))
    assert [one["id"] for page in found for one in page] == expected
    assert max(map(len, found)) < len(expected)
    by_id = {one["id"]: one for page in found for one in page}
    whole = get(f"/v1/responses/{made[0]}")
    assert len(whole["output"][0]["content"][0]["text"]) == LETTERS
    assert {**whole, "input": by_id[made[0]]["input"]} == by_id[made[0]]
    # and the other way: those right before the newest, nearest first
    back = get(f"/v1/responses?order={order}&before={expected[-1]}")
    assert back["has_more"]
    assert [one["id"] for one in back["data"]] == expected[-1 - len(back["data"]) : -1]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_list_of_large_items_ends_early(order: str) -> None:
    conversation = post("/v1/conversations")["id"]
    path = f"/v1/conversations/{conversation}/items"
    put = [post(path, items=[{"role": "user", "content": f"{place}{HALF}"}])["data"][0] for place in range(3)]
    put += post(path, items=[{"role": "user", "content": str(place)} for place in range(3)])["data"]
    expected = put if order == "asc" else put[::-1]
    found = list(by_cursor(f"{path}?order={order}"))
    assert [one for page in found for one in page] == expected
    assert [len(page) for page in found] == ([1, 1, 4] if order == "asc" else [4, 1, 1])
    back = get(f"{path}?order={order}&before={expected[-1]['id']}")
    assert back["has_more"]
    assert back["data"] == expected[-1 - len(back["data"]) : -1]


@pytest.mark.parametrize("limit", [1, 7, 100])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_items_are_all_met_whatever_the_page(order: str, limit: int) -> None:
    conversation = post("/v1/conversations")["id"]
    path = f"/v1/conversations/{conversation}/items"
    for start in range(0, 160, 20):
        post(path, items=[{"role": "user", "content": str(start + place)} for place in range(20)])
    post("/v1/responses", model=MODEL, input="!script think Hm.\nsay Hello.", conversation=conversation)
    there = flat(by_cursor(f"{path}?order=asc&limit=100"))
    assert [one["type"] for one in there[-3:]] == ["message", "reasoning", "message"]
    expected = there if order == "asc" else there[::-1]
    assert flat(by_cursor(f"{path}?order={order}&limit={limit}")) == expected
    for one, two in pairwise(expected[:5]):
        assert get(f"{path}?order={order}&limit=1&before={two['id']}")["data"] == [one]


def test_the_input_of_a_response_is_listed_with_all_that_was_said_before() -> None:
    first = post("/v1/responses", model=MODEL, input=[{"role": "user", "content": "one"}])
    second = post("/v1/responses", model=MODEL, input="two", previous_response_id=first["id"])
    found = flat(by_cursor(f"/v1/responses/{second['id']}/input_items?order=asc&limit=1"))
    assert [one["content"][0]["text"] for one in found] == ["one", first["output"][0]["content"][0]["text"], "two"]
    assert flat(by_cursor(f"/v1/responses/{second['id']}/input_items?limit=2")) == found[::-1]


def test_what_was_taken_along_to_another_conversation_is_found_there_under_its_id() -> None:
    conversation = post("/v1/conversations")["id"]
    first = post("/v1/responses", model=MODEL, input="one", conversation=conversation)
    second = post("/v1/responses", model=MODEL, input="two", previous_response_id=first["id"])
    path = f"/v1/responses/{second['id']}/input_items?order=asc"
    answer = first["output"][0]
    assert [one["id"] for one in get(path)["data"]][1] == answer["id"]
    assert get(f"{path}&after={answer['id']}")["data"][0]["content"][0]["text"] == "two"


def test_an_item_that_is_not_there_is_no_cursor() -> None:
    conversation = post("/v1/conversations", items=[{"role": "user", "content": "one"}])["id"]
    other = post("/v1/conversations", items=[{"role": "user", "content": "two"}])["id"]
    theirs = get(f"/v1/conversations/{other}/items")["data"][0]["id"]
    for wrong in (theirs, "msg_1", "nothing"):
        answer = CLIENT.get(f"/v1/conversations/{conversation}/items?after={wrong}")
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == "after"
        assert CLIENT.get(f"/v1/conversations/{conversation}/items/{wrong}").status_code == 404


def test_a_session_of_large_turns_comes_whole() -> None:
    agent = new_agent()
    session = post(f"/v1/agents/{agent}/session", session_name="large")["session_id"]
    path = f"/v1/agents/{agent}/session/{session}"
    for words in (f"repeat {SAID} {WORD}", "say Hello.", f"repeat {SAID} {WORD}"):
        messages = [{"role": "user", "content": f"!script {words}"}]
        turn = post(f"{path}/turn", messages=messages, stream=False)
        assert get(f"{path}/turn/{turn['turn_id']}") == turn
        step = turn["steps"][0]
        assert get(f"{path}/turn/{turn['turn_id']}/step/{step['step_id']}") == {"step": step}
    found = get(path)["turns"]
    assert [len(one["output_message"]["content"]) for one in found] == [LETTERS, 6, LETTERS]
    assert [one["steps"][0]["model_response"]["content"] for one in found] == [
        one["output_message"]["content"] for one in found
    ]
    assert get(f"{path}?turn_ids={found[1]['turn_id']}")["turns"] == [found[1]]


def test_a_small_answer_is_sent_as_it_is() -> None:
    answer = CLIENT.get(f"/v1/agents/{new_agent()}")
    assert not answer.streaming
    assert answer["Content-Type"] == "application/json"


OVER, FAR_OVER = {"words": "x" * 16 * 1024}, {"words": "x" * 256 * 1024}
TOO_LARGE: list[tuple[str, dict[str, Any], str]] = [
    ("/v1/models", {"model_id": "m", "provider_model_id": "fast", "metadata": OVER}, "metadata"),
    ("/v1/shields", {"shield_id": "s", "provider_shield_id": MODEL, "params": OVER}, "params"),
    ("/v1/toolgroups", {"toolgroup_id": "g", "provider_id": "model-context-protocol", "args": OVER}, "args"),
    (
        "/v1/vector-io/insert",
        {"vector_db_id": "d", "chunks": [{"content": "a", "metadata": FAR_OVER}]},
        "chunks.0.metadata",
    ),
    ("/v1/vector-io/insert", {"vector_db_id": "d", "chunks": [{"content": "a" * 300_000}]}, "chunks.0.content"),
    (
        "/v1/tool-runtime/rag-tool/insert",
        {"vector_db_id": "d", "documents": [{"document_id": "d", "content": "a", "metadata": FAR_OVER}]},
        "documents.0.metadata",
    ),
]


@pytest.mark.parametrize(("path", "body", "field"), TOO_LARGE)
def test_what_is_listed_without_pages_is_small(path: str, body: dict[str, Any], field: str) -> None:
    answer = CLIENT.post(path, body, content_type="application/json")
    assert answer.status_code == 400, body_of(answer)
    assert answer.json()["error"]["param"] == field
    assert "KiB" in answer.json()["error"]["message"]


def test_who_has_many_large_answers_made_leaves_room_for_another() -> None:
    begun, may_end = Event(), Event()

    def slow() -> Iterator[bytes]:
        begun.set()
        assert may_end.wait(60)
        yield b"{}"

    def made(whose: str, pieces: Iterable[bytes]) -> Any:
        shares.caller.set(whose)
        return large_answers.answer(large_answers.MAX_IN_MEMORY + 1, pieces)

    with ThreadPoolExecutor(4) as threads:
        theirs = [threads.submit(made, "one", slow()) for _ in range(3)]
        try:
            assert begun.wait(60)
            assert body_of(threads.submit(made, "other", iter([b"[]"])).result(60)) == b"[]"
            assert not any(each.done() for each in theirs)
        finally:
            may_end.set()
        assert [body_of(each.result(60)) for each in theirs] == [b"{}"] * 3
