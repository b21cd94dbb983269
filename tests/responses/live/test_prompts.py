"""Prompts with variables and versions: their routes, and the responses that use them."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, script
from tests.support.live.held_model import HeldModel
from tests.support.live.openai_api import MODEL, said, turns
from tests.support.live.page_reader import Reader
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.response_socket import opened, text

pytestmark = pytest.mark.server

TEXT = "Answer as {{ role }} would, in {{language}}."


def made(caller: Caller, prompt: str = TEXT, **more: Any) -> dict[str, Any]:
    answer = caller.post("/v1/prompts", {"prompt": prompt, **more})
    assert answer.status == 200, answer.body
    told: dict[str, Any] = answer.json
    return told


def used(prompt: dict[str, Any], **more: Any) -> Any:
    return {"id": prompt["prompt_id"], "variables": {"role": "a cook", "language": "Latin"}, **more}


# ------------------------------------------------------------------------------------------ queries


def test_the_log_is_asked_for_a_prompt_and_for_its_version(openai_client: OpenAI, caller: Caller) -> None:
    prompt, other = made(caller), made(caller)
    name, mark = prompt["prompt_id"], f"mark{uuid.uuid4().hex}"

    def ask(used_prompt: Any, **more: Any) -> Any:
        return openai_client.responses.create(model=MODEL, input=script(f"say {mark}"), prompt=used_prompt, **more)

    ask(used(prompt))
    caller.post(f"/v1/prompts/{name}", {"prompt": TEXT, "version": 1})
    for body in (used(prompt), used(prompt, version="1"), used(other)):
        ask(body)
    ask(used(prompt), instructions="Others.")
    ask(None)

    def found(query: str) -> int:
        return len(turns(caller, f"{mark} {query}"))

    assert (found(""), found("has:prompts"), found("has:prompt")) == (6, 5, 5)
    assert (found(f"prompt:{name}"), found(f"prompt:{other['prompt_id']}")) == (4, 1)
    assert (found(f"prompt:{name}@1"), found(f"prompt:{name}@2"), found(f"prompt:{name}@3")) == (2, 2, 0)
    assert found(f"prompt:{name[:-4]}*") == 4
    assert found(f"-prompt:{name}") == 2
    assert len(caller.get(f"/v1/logs/sessions?q=prompt:{name}").json["data"]) == 4
    assert len(caller.get(f"/v1/logs/responses?q=prompt:{name}@1").json["data"]) == 2


def test_versions_of_prompts_are_counted(openai_client: OpenAI, caller: Caller) -> None:
    prompt, mark = made(caller), f"mark{uuid.uuid4().hex}"
    for version in ("1", "1"):
        openai_client.responses.create(model=MODEL, input=script(f"say {mark}"), prompt=used(prompt, version=version))
    [facet] = caller.get(f"/v1/logs/turns/facets?by=prompt&q={mark}").json["data"]
    assert [(value["value"], value["count"]) for value in facet["values"]] == [(f"{prompt['prompt_id']}@1", 2)]
    caller.delete(f"/v1/prompts/{prompt['prompt_id']}")
    assert len(turns(caller, f"prompt:{prompt['prompt_id']}@1")) == 2


# ------------------------------------------------------------------------------------------- routes


def test_a_prompt_is_made_read_listed_and_deleted(caller: Caller) -> None:
    first = made(caller)
    assert {**first, "prompt_id": ""} == {
        "prompt_id": "",
        "version": 1,
        "prompt": TEXT,
        "variables": ["role", "language"],
        "is_default": True,
    }
    assert first["prompt_id"].startswith("pmpt_")
    path = f"/v1/prompts/{first['prompt_id']}"
    assert caller.get(path).json == first
    listed = caller.get("/v1/prompts?limit=1").json
    assert listed["data"] == [first]
    assert caller.delete(path).status == 204
    for again in (caller.get(path), caller.delete(path), caller.get(f"{path}/versions")):
        assert (again.status, again.json["error"]["code"]) == (404, "prompt_not_found")


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_prompt_has_versions_that_never_change(caller: Caller, method: str) -> None:
    first = made(caller)
    path = f"/v1/prompts/{first['prompt_id']}"
    second = caller.ask(method, path, {"prompt": "Be {{ how }}.", "variables": ["how", "spare"], "version": 1}).json
    assert (second["version"], second["is_default"], second["variables"]) == (2, True, ["how", "spare"])
    third = caller.ask(method, path, {"prompt": "Be.", "version": 2, "set_as_default": False}).json
    assert (third["version"], third["is_default"]) == (3, False)
    assert caller.get(path).json == second
    assert caller.get(f"{path}?version=1").json == {**first, "is_default": False}
    assert caller.get(f"{path}/versions").json["data"] == [{**first, "is_default": False}, second, third]
    stale = caller.ask(method, path, {"prompt": "Be.", "version": 2})
    assert (stale.status, stale.json["error"]["code"]) == (409, "version_conflict")
    chosen = caller.ask(method, f"{path}/set-default-version", {"version": 1}).json
    assert chosen == caller.get(path).json == first
    missing = caller.ask(method, f"{path}/set-default-version", {"version": 9})
    assert (missing.status, missing.json["error"]["param"]) == (404, "version")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"prompt": ""},
        {"prompt": 7},
        {"prompt": "x" * 20_000},
        {"prompt": "{{ a }}", "variables": []},
        {"prompt": "{{ a }}", "variables": ["b"]},
        {"prompt": "{{ a }}", "variables": ["a", "no name"]},
        {"prompt": "".join(f"{{{{ a{number} }}}}" for number in range(101))},
    ],
)
def test_what_is_wrong_is_refused(caller: Caller, body: Any) -> None:
    answer = caller.post("/v1/prompts", body)
    assert (answer.status, answer.json["error"]["type"]) == (400, "invalid_request_error")
    assert answer.json["error"]["param"]


@pytest.mark.parametrize("version", ["0", "x", "1001", "-1", "1e3"])
def test_a_version_is_a_number(caller: Caller, version: str) -> None:
    answer = caller.get(f"/v1/prompts/{made(caller)['prompt_id']}?version={version}")
    assert (answer.status, answer.json["error"]["param"]) == (400, "version")


# ---------------------------------------------------------------------------------------- responses


def test_its_text_becomes_the_instructions(openai_client: OpenAI, caller: Caller, held: HeldModel) -> None:
    prompt, question, mark = made(caller), held.hold(), f"mark{uuid.uuid4().hex}"
    question.end(f"Ave, {mark}.")
    response = openai_client.responses.create(model="held/held", input=question.question, prompt=used(prompt))
    assert question.asked[0][0] == {"role": "system", "content": "Answer as a cook would, in Latin."}
    assert response.instructions == "Answer as a cook would, in Latin."
    assert response.prompt is not None
    assert (response.prompt.id, response.prompt.version) == (prompt["prompt_id"], "1")
    assert response.prompt.variables == {"role": "a cook", "language": "Latin"}
    assert openai_client.responses.retrieve(response.id) == response
    [turn] = turns(caller, mark)
    page = caller.get(f"/turns/{turn['id']}/?view=raw").body.decode()
    assert prompt["prompt_id"] in page


def test_a_response_names_a_version(openai_client: OpenAI, caller: Caller) -> None:
    prompt = made(caller)
    path = f"/v1/prompts/{prompt['prompt_id']}"
    caller.post(path, {"prompt": "Second.", "version": 1})
    ask: Any = {"model": MODEL, "input": script("say Ok.")}
    default = openai_client.responses.create(**ask, prompt={"id": prompt["prompt_id"]})
    first = openai_client.responses.create(**ask, prompt=used(prompt, version="1"))
    assert (default.instructions, default.prompt and default.prompt.version) == ("Second.", "2")
    assert (first.instructions, first.prompt and first.prompt.version) == ("Answer as a cook would, in Latin.", "1")


def test_own_instructions_take_its_place(openai_client: OpenAI, caller: Caller) -> None:
    prompt: Any = used(made(caller))
    response = openai_client.responses.create(model=MODEL, input="x", prompt=prompt, instructions="Be brief.")
    assert response.instructions == "Be brief."
    assert response.prompt is not None


def test_a_value_is_not_filled_in_again(openai_client: OpenAI, caller: Caller) -> None:
    prompt = made(caller, "{{ a }} {{ b }} {{a}} {{ }} { a }")
    named: Any = {"id": prompt["prompt_id"], "variables": {"a": "{{ b }}", "b": r"\1 {{ a }}"}}
    response = openai_client.responses.create(model=MODEL, input="x", prompt=named)
    assert response.instructions == r"{{ b }} \1 {{ a }} {{ b }} {{ }} { a }"


def test_variables_may_be_texts_images_and_files(openai_client: OpenAI, caller: Caller, held: HeldModel) -> None:
    prompt, question = made(caller, "Look at {{ picture }} and {{ note }}, {{ who }}."), held.hold()
    image = "data:image/png;base64,iVBORw0KGgo="
    variables: Any = {
        "picture": {"type": "input_image", "image_url": image, "detail": "low"},
        "note": {"type": "input_file", "filename": "note.txt", "file_data": "data:text/plain;base64,S2V0dGxl"},
        "who": {"type": "input_text", "text": "cook"},
    }
    question.end("Seen.")
    response = openai_client.responses.create(
        model="held/held", input=question.question, prompt={"id": prompt["prompt_id"], "variables": variables}
    )
    assert response.instructions == "Look at [picture] and [note], cook."
    system, picture, note, asked = question.asked[0]
    assert system["role"] == "system"
    assert [part["type"] for part in picture["content"]] == ["text", "image_url"]
    assert "Kettle" in str(note["content"])
    assert asked["content"] == question.question
    items: Any = openai_client.responses.input_items.list(response.id, order="asc")
    assert [item.content[0].text for item in items] == ["[picture]", "[note]", question.question]


@pytest.mark.parametrize(
    ("prompt", "status", "param"),
    [
        ({"id": "?"}, 400, "prompt.variables.role"),
        ({"id": "?", "variables": {"role": "a cook"}}, 400, "prompt.variables.language"),
        ({"id": "?", "variables": {"role": "x", "language": "y", "more": "z"}}, 400, "prompt.variables.more"),
        ({"id": "?", "version": "7"}, 404, "prompt.version"),
        ({"id": "?", "version": "latest"}, 400, "prompt.version"),
        ({"id": "?", "version": 1}, 400, "prompt.version"),
        ({"id": "?", "variables": {"role": 7}}, 400, None),
        ({"id": "?", "variables": {"role": {"type": "output_text", "text": "x"}}}, 400, "prompt.variables"),
        ({"id": "pmpt_0123"}, 404, "prompt.id"),
        ({}, 400, "prompt.id"),
        ("pmpt_0123", 400, "prompt"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(caller: Caller, prompt: Any, status: int, param: str | None) -> None:
    name = made(caller)["prompt_id"]
    if isinstance(prompt, dict) and prompt.get("id") == "?":
        prompt = {**prompt, "id": name}
    answer = caller.post("/v1/responses", {"model": MODEL, "input": "x", "prompt": prompt})
    assert answer.status == status, answer.body
    told = answer.json["error"]["param"]
    assert told == param if param else told.startswith("prompt")


def test_a_deleted_prompt_is_still_told_of(openai_client: OpenAI, caller: Caller) -> None:
    prompt = made(caller)
    response = openai_client.responses.create(model=MODEL, input="x", prompt=used(prompt))
    caller.delete(f"/v1/prompts/{prompt['prompt_id']}")
    assert openai_client.responses.retrieve(response.id) == response
    with pytest.raises(openai.NotFoundError):
        openai_client.responses.create(model=MODEL, input="x", prompt=used(prompt))


def test_the_socket_takes_it_too(server: ServerProcess, caller: Caller, held: HeldModel) -> None:
    """What steering begins has the same text."""
    prompt, first, second = made(caller), held.hold(), held.hold()
    with opened(server) as socket:
        socket.send(model="held/held", input=first.question, prompt=used(prompt), store=False)
        name = socket.until("response.created")[-1]["response"]["id"]
        assert socket.steer(name, [said(second.question)])["type"] == "response.steer.accepted"
        first.end("One.")
        socket.until("response.completed")
        second.end("Two.")
        answer = socket.until("response.completed")[-1]["response"]
    assert (text(answer), answer["instructions"]) == ("Two.", "Answer as a cook would, in Latin.")
    assert answer["prompt"]["id"] == prompt["prompt_id"]
    assert second.asked[0][0]["content"] == "Answer as a cook would, in Latin."


def test_a_fork_and_another_process_use_the_same_text(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    """Also where the prompt has another default version meanwhile."""
    server = start_server()
    caller, question, mark = Caller(server.port), held.hold(), f"mark{uuid.uuid4().hex}"
    prompt = made(caller)
    body = {"model": "held/held", "input": question.question, "prompt": used(prompt), "background": True}
    name = caller.post("/v1/responses", body).json["id"]
    eventually(lambda: question.asked)
    caller.post(f"/v1/prompts/{prompt['prompt_id']}", {"prompt": "Other.", "version": 1})
    server.kill()
    question.end()
    caller.port = server.start().port
    eventually(lambda: len(question.asked) == 2)
    question.end(f"Ave, {mark}.")
    eventually(lambda: caller.get(f"/v1/responses/{name}").json["status"] == "completed")
    [turn] = turns(caller, mark)
    page = Reader(server, f"/turns/{turn['id']}/fork/?step=1")
    question.end("Forked.")
    assert page.send("", step="1", model="held/held", strategy="top_p", tools="recorded") == 200
    eventually(lambda: len(question.asked) == 3)
    assert all(one == other for one, other in itertools.pairwise(question.asked))
    assert question.asked[0][0]["content"] == "Answer as a cook would, in Latin."
