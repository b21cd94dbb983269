"""Bad input to responses and conversations: refused with the field and the reason, or taken and stored
readable; never a 5xx, never half."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents.record.models.agents import Session
from agents.record.models.turns import Item, Turn
from agents.responses.schemas.requests import UNSUPPORTED_FIELDS, CreateResponse
from tests.server.api.test_bad_input import CLIENT, refusal
from tests.support.cases import sparing
from tests.support.inprocess import body_of, json_of
from tests.support.input_corpus import HOSTILE, NO_JSON, at, hostile_bodies, places, wrong_bodies

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

PARAMETERS = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
LOOK = {"type": "function", "name": "look", "description": "Look", "parameters": PARAMETERS, "strict": True}
ITEMS: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Look:"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"},
        ],
        "id": "msg_1",
        "status": "completed",
    },
    {"role": "assistant", "content": [{"type": "output_text", "text": "I see.", "annotations": []}]},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "I may not."}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at":"it"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "a cat"},
    {"type": "file_search_call", "id": "fs_1", "queries": ["cat"], "results": [{"text": "cats purr"}]},
    {"type": "mcp_call", "id": "mcp_1", "name": "find", "server_label": "s", "arguments": "{}", "output": "found"},
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
    {"role": "user", "content": "What is it?"},
]
RESPONSE: dict[str, Any] = {
    "input": ITEMS,
    "model": "scripted/fast",
    "instructions": "Be brief.",
    "store": True,
    "stream": False,
    "background": False,
    "temperature": 0.5,
    "top_p": 0.9,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.1,
    "top_logprobs": 0,
    "max_output_tokens": 100,
    "max_tool_calls": 5,
    "max_infer_iters": 5,
    "budget": {"tokens": 100_000},
    "metadata": {"k": "v"},
    "tools": [LOOK],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]},
    "parallel_tool_calls": True,
    "text": {"format": {"type": "json_schema", "name": "place", "schema": {"type": "object"}}, "verbosity": "low"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["file_search_call.results"],
    "truncation": "disabled",
    "guardrails": ["demo_guard", {"type": "demo_guard"}],
    "service_tier": "auto",
    "prompt_cache_key": "k",
    "safety_identifier": "ana",
    "user": "ana",
    "stream_options": {"include_obfuscation": False},
}
PLAIN = {"model": "scripted/fast", "input": "hello"}
CONVERSATION: dict[str, Any] = {"items": ITEMS, "metadata": {"k": "v"}}
UPDATE: dict[str, Any] = {"metadata": {"k": "v"}}
ADDED: dict[str, Any] = {"items": ITEMS}
BODIES = {"response": RESPONSE, "conversation": CONVERSATION, "update": UPDATE, "items": ADDED}
ROUTES = tuple(BODIES)


def post(path: str, body: Any, kind: str = "application/json") -> Any:
    raw = body if isinstance(body, bytes | str) else json.dumps(body)
    return CLIENT.generic("POST", path, raw, kind)


def path_of(route: str) -> str:
    """Where a route's bodies are sent; to a conversation of their own."""
    if route in ("response", "conversation"):
        return f"/v1/{route}s"
    name = post("/v1/conversations", {}).json()["id"]
    return f"/v1/conversations/{name}{'/items' if route == 'items' else ''}"


def stored() -> tuple[int, ...]:
    return tuple(model.objects.unscoped("test").count() for model in (Session, Turn, Item))


def test_the_bodies_below_are_valid() -> None:
    """They are the ground that everything else is changed from."""
    for route, body in BODIES.items():
        response = post(path_of(route), body)
        assert response.status_code == 200, (route, body_of(response))


@pytest.mark.parametrize("route", ROUTES)
def test_what_is_no_json_is_refused_and_leaves_nothing(route: str) -> None:
    path = path_of(route)
    before = stored()
    for name, body in NO_JSON.items():
        response = post(path, body)
        assert response.status_code == 400, name
        assert refusal(response)["code"] == "invalid_json", name
    assert post(path, BODIES[route], "text/plain").status_code == 415
    assert stored() == before


@pytest.mark.parametrize("route", ["response", "update", "items"])
def test_an_empty_body_lacks_its_fields(route: str) -> None:
    for raw in (b"", b"{}"):
        response = post(path_of(route), raw)
        assert (response.status_code, refusal(response)["param"]) == (400, next(iter(BODIES[route])))


@pytest.mark.parametrize("route", ROUTES)
def test_unknown_fields_are_ignored(route: str) -> None:
    many = {f"key {number}": number for number in range(1000)}
    strange = {"__proto__": {"x": 1}, "": 1, "owner": 1, "scope": 1, "status": "x", "id": "x", "object": "x"}
    assert post(path_of(route), {**many, **strange, **BODIES[route]}).status_code == 200


FIELDS = sorted(set(RESPONSE) - {"input", "model"})


@pytest.mark.parametrize("field", FIELDS)
def test_null_is_as_not_given(field: str) -> None:
    response = post("/v1/responses", {**PLAIN, field: None})
    assert response.status_code == 200, body_of(response)


TRUTH: list[Any] = ["x", 7, [], {}, 1.5]
SHARE: list[Any] = ["x", -0.1, 2.1, [], {}]
PENALTY: list[Any] = ["x", -2.1, 2.1, []]
COUNT: list[Any] = ["x", 0, -1, 1.5, []]
TEXT: list[Any] = [1, [], {}]
NEVER: dict[str, list[Any]] = {
    "input": [1, True, {}, None, [1], [None], ["x"], [{}], [{"role": "nobody", "content": "x"}]],
    "model": [1, None, "", [], {}],
    "store": TRUTH,
    "stream": TRUTH,
    "background": TRUTH,
    "parallel_tool_calls": TRUTH,
    "temperature": SHARE,
    "top_p": SHARE,
    "presence_penalty": PENALTY,
    "frequency_penalty": PENALTY,
    "max_output_tokens": COUNT,
    "max_tool_calls": COUNT,
    "max_infer_iters": COUNT,
    "budget": ["x", [], {}, {"tokens": 0}, {"usd": "x"}],
    "top_logprobs": ["x", -1, 21, []],
    "instructions": TEXT,
    "service_tier": TEXT,
    "prompt_cache_key": TEXT,
    "prompt_cache_retention": TEXT,
    "safety_identifier": TEXT,
    "user": TEXT,
    "metadata": ["x", [], {"k": 1}, {"k": None}, {"k": {"x": "y"}}],
    "tools": ["x", {}, [1], [None], [{}], [{"type": "function"}], [{"type": "function", "name": "has blanks"}]],
    "tool_choice": [1, [], {}, "x", {"type": "x"}, {"type": "function"}],
    "text": ["x", [], {"format": "x"}, {"format": {"type": "x"}}, {"verbosity": "x"}],
    "reasoning": ["x", [], {"effort": "x"}, {"effort": 1}],
    "include": ["x", {}, [1], ["x"]],
    "truncation": ["x", 1, []],
    "guardrails": ["x", {}, [1], [{}], ["nobody"]],
    "stream_options": ["x", [], {"include_obfuscation": "x"}],
    "conversation": [1, [], {}, "x", {"id": 1}],
    "previous_response_id": [1, [], {}],
    "prompt": ["x", [], {}, {"id": 1}, {"id": "p", "version": "x"}, {"id": "p", "variables": ["x"]}],
    "context_management": ["x", [{"type": "x"}]],
    "moderation": ["x", {"model": "m"}],
    **{name: ["x", [1]] for name in ("image", "access_programs", "background_options", "prompt_cache_options")},
}


@pytest.mark.parametrize("field", NEVER)
@pytest.mark.parametrize("stream", [False, True])
def test_a_value_of_a_wrong_type_is_refused_by_its_name(field: str, stream: bool) -> None:
    before = stored()
    for value in NEVER[field]:
        body = {"stream": stream, **PLAIN, field: value}
        response = post("/v1/responses", body)
        assert response.status_code == 400, (field, value, body_of(response)[:300])
        error = refusal(response)
        assert field in error["message"] or "conv_" in error["message"], (field, value, error)
        assert error["param"].split(".")[0] in (field, "body"), (field, value, error)
    assert stored() == before


def test_every_field_of_a_request_is_tried() -> None:
    untried = {*CreateResponse.model_fields, *UNSUPPORTED_FIELDS} - set(NEVER)
    assert untried == set()


# --------------------------------------------------------------------------------------- every place


def taken(route: str, bodies: Iterator[tuple[str, Any]]) -> list[Any]:
    """Send all of them; the answers to those that were taken. Everything else was refused in our shape."""
    found, path = [], path_of(route)
    for number, (name, body) in enumerate(bodies):
        if route == "items" and number % 20 == 19:
            path = path_of(route)  # a conversation of its own: they grow
        response = post(path, body)
        content = body_of(response)
        assert response.status_code < 500 or b'"provider_error"' in content, (name, content[:300])
        if response.status_code == 200:
            found.append((name, content))
        elif response.status_code < 500:
            error = refusal(response)
            assert error["param"] or response.status_code in (404, 409), (name, error)
    return found


def all_readable() -> None:
    """Lists and what they list still read."""
    for path in ("/v1/responses?limit=100", "/v1/conversations?limit=100", "/logs/", "/v1/logs/turns?limit=1000"):
        assert CLIENT.get(path).status_code == 200, path
    for row in json_of(CLIENT.get("/v1/responses?limit=100"))["data"][::7]:
        for more in ("", "/input_items", "?stream=true"):
            response = CLIENT.get(f"/v1/responses/{row['id']}{more}")
            assert response.status_code == 200, (row["id"], more)
            assert body_of(response)
    for row in json_of(CLIENT.get("/v1/conversations?limit=100"))["data"][::7]:
        page = CLIENT.get(f"/v1/conversations/{row['id']}/items?limit=100")
        assert page.status_code == 200
        for item in json_of(page)["data"]:
            assert item["id"]
            assert CLIENT.get(f"/v1/conversations/{row['id']}/items/{item['id']}").status_code in (200, 404)


@pytest.mark.corpus
@pytest.mark.parametrize("route", ROUTES)
def test_wrong_values_in_every_place(route: str) -> None:
    assert taken(route, wrong_bodies(BODIES[route]))
    all_readable()


@pytest.mark.corpus
@pytest.mark.parametrize("route", ROUTES)
def test_hostile_text_in_every_place(route: str) -> None:
    assert taken(route, hostile_bodies(BODIES[route]))
    all_readable()


SHORT = [name for name, text in HOSTILE.items() if len(text) <= 300]


@pytest.mark.parametrize("name", sparing(SHORT, "NUL", "control characters", "right to left", "markup", "spreadsheet"))
def test_words_come_back_as_they_were_but_for_nul(name: str) -> None:
    said, read = HOSTILE[name], HOSTILE[name].replace("\x00", "\u2400")
    items = [{"role": "user", "content": said}, {"role": "assistant", "content": said}]
    made = post("/v1/conversations", {"items": items}).json()["id"]
    page = CLIENT.get(f"/v1/conversations/{made}/items?order=asc").json()["data"]
    assert [item["content"][0]["text"] for item in page] == [read, read]
    response = post("/v1/responses", {**PLAIN, "input": items, "instructions": said}).json()
    again = CLIENT.get(f"/v1/responses/{response['id']}").json()
    assert again == response
    assert again["instructions"] == read
    kept = CLIENT.get(f"/v1/responses/{response['id']}/input_items?order=asc").json()["data"]
    assert [item["content"][0]["text"] for item in kept] == [read, read]
    for path in ("/logs/", f"/v1/responses?q={name.split()[0]}"):
        assert CLIENT.get(path).status_code == 200


def test_the_places_tried_are_many() -> None:
    assert sum(1 for _ in places(RESPONSE)) > 80
    assert at(RESPONSE, ("text", "format", "type")) == "json_schema"


# ------------------------------------------------------------------------------------- queries, paths

NUMBERS = ["x", "-1", "0", "1.5", "1e3", "%00", "9" * 13, "½", "%20"]


@pytest.mark.parametrize(
    ("path", "query"),
    list(
        itertools.product(
            ["/v1/responses", "/v1/conversations", "RESPONSE/input_items", "CONVERSATION/items"],
            [*(f"limit={number}" for number in NUMBERS), "order=up", "after=a&before=b", "after=%00", "before=x"],
        )
    ),
)
def test_a_page_that_cannot_be_is_refused(path: str, query: str) -> None:
    if "RESPONSE" in path:
        path = path.replace("RESPONSE", f"/v1/responses/{post('/v1/responses', PLAIN).json()['id']}")
    if "CONVERSATION" in path:
        path = path.replace("CONVERSATION", path_of("update"))
    response = CLIENT.get(f"{path}?{query}")
    assert response.status_code in (400, 404), (path, query, body_of(response)[:200])
    if response.status_code == 400:
        assert refusal(response)["param"] in (query.partition("=")[0], "before", "conversation")


IDS = [
    "x",
    "resp_",
    "resp_" + "0" * 32,
    "resp_" + "g" * 32,
    "conv_",
    "conv_" + "9" * 5000,
    "%00",
    "%ff",
    "..",
    "é",
    "%20",
]


@pytest.mark.parametrize("name", IDS)
def test_an_id_that_is_none_is_never_a_mistake_of_ours(name: str) -> None:
    for method, path in (
        ("GET", f"/v1/responses/{name}"),
        ("GET", f"/v1/responses/{name}?stream=true"),
        ("DELETE", f"/v1/responses/{name}"),
        ("POST", f"/v1/responses/{name}/cancel"),
        ("GET", f"/v1/responses/{name}/input_items"),
        ("GET", f"/v1/conversations/{name}"),
        ("DELETE", f"/v1/conversations/{name}"),
        ("GET", f"/v1/conversations/{name}/items"),
        ("GET", f"/v1/conversations/{name}/items/{name}"),
        ("DELETE", f"{path_of('update')}/items/{name}"),
    ):
        response = CLIENT.generic(method, path, "", "application/json")
        assert response.status_code in (400, 404), (method, path)
        refusal(response)


@pytest.mark.parametrize(
    "query",
    ["metadata[=x", "metadata[]=x", "metadata[a][b]=x", "metadata[a]=%00", "metadata[]]=", "q=%00", "model=%00"],
)
def test_an_odd_filter_finds_nothing_and_breaks_nothing(query: str) -> None:
    post("/v1/responses", PLAIN)
    response = CLIENT.get(f"/v1/responses?{query}")
    assert response.status_code in (200, 400)


def test_a_stream_is_asked_for_by_true_or_false() -> None:
    made = post("/v1/responses", PLAIN).json()["id"]
    for given in ("null", "yes", "2"):
        assert refusal(CLIENT.get(f"/v1/responses/{made}?stream={given}"))["param"] == "stream"
    for given in ("false", "0", ""):
        assert CLIENT.get(f"/v1/responses/{made}?stream={given}").json()["id"] == made
