"""Requests that ask wrongly: queries, cursors, paths, methods, names of what is not there."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from agents.base import ids
from agents.loop.schemas.turns import CreateTurn, Document, ResumeTurn
from agents.record.schemas.agents import AgentConfig, ToolGroupWithArgs
from agents.record.schemas.content import SamplingParams, ToolConfig, ToolDef, ToolParameter, ToolResponse, UserMessage
from agents.server.api.urls import routes
from tests.server.api.test_bad_input import PLAIN, Road, refusal, stored
from tests.support.cases import sparing
from tests.support.inprocess import body_of

CLIENT, CHECKING = (
    Client(raise_request_exception=False),
    Client(raise_request_exception=False, enforce_csrf_checks=True),
)
"""Made once: a client loads the middleware at its first request."""

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


@pytest.fixture
def road(_served: None) -> Road:
    return Road()


# --------------------------------------------------------------------------------------------- queries

NUMBERS = ["x", "--1", "-", "1.5", "1e3", "0x1", "%00", "null", "9" * 13, "9" * 5000, "1_000", "%20", "5&limit=x", "½"]
BAD_LISTS = [
    *(f"limit={number}" for number in (*NUMBERS, "0", "-2")),
    *(f"start_index={number}" for number in (*NUMBERS[:-2], "-1")),
]
BAD_LOGS = [
    *(f"limit={number}" for number in (*NUMBERS, "0", "-1", "-2")),
    *(
        f"{side}={cursor}"
        for side in ("after", "before")
        for cursor in ("x", "1", "%00", "7.40", "9" * 5000, "[]", "é")
    ),
    *(f"tz={zone}" for zone in ("Nowhere", "../../etc/passwd", "%00", "/etc/passwd", "x" * 5000, "America")),
]
BAD_QUERIES = [
    "(",
    ")",
    '"',
    "a OR",
    "status:nothing",
    "nothing:x",
    "duration:>x",
    "duration:>1e400s",
    "cost:>$99999999999999999999999999999999999999999",
    "tokens:>" + "9" * 400,
    "started:>9999999999-01-01",
    "started:2026-13-45",
    "step(turn(x)",
    "count(step)>x",
    "(" * 3000,
    "x " * 2000,
    "-" * 2000,
    "a" * 3000,
    " ".join(f"f{number}" for number in range(300)),
    "password__startswith:x",
    "_connector:OR",
    "owner__password:x",
    "owner_id:1",
    "scope_id:1",
    "pk:1",
    "id__in:1",
    "is:everything",
    "has:everything",
    "agent:",
]


@pytest.mark.parametrize("query", BAD_LISTS)
def test_a_list_says_what_is_wrong_with_its_bounds(query: str) -> None:
    for path in ("/v1/agents", "/v1alpha/agents"):
        response = CLIENT.get(f"{path}?{query}")
        assert response.status_code == 400, query
        assert refusal(response)["param"] == query.partition("=")[0]


@pytest.mark.parametrize("query", BAD_LOGS)
def test_the_logs_say_what_is_wrong_with_theirs(query: str) -> None:
    response = CLIENT.get(f"/v1/logs/turns?{query}")
    assert response.status_code == 400, query
    assert refusal(response)["param"] == query.partition("=")[0]


@pytest.mark.parametrize("text", BAD_QUERIES)
def test_a_query_that_cannot_be_read_names_the_place(text: str) -> None:
    response = CLIENT.get("/v1/logs/turns", {"q": text})
    assert response.status_code == 400, text
    error = refusal(response)
    assert (error["param"], error["code"]) == ("q", "query_syntax")
    assert 0 <= error["position"] <= len(text)
    assert CLIENT.get("/logs/", {"q": text}).status_code == 400


ODD_TEXTS = [
    "\x00",
    "a\x00b",
    "😀",
    "%",
    "_",
    "'",
    "\\",
    "a\u2028b",
    "\ufffe",
    "İ",
    "ﬁ",
    "青い",
    '"\x00"',
    "session:'; DROP",
]
ODD_TEXTS += ["session:\x00", "agent:a\x00", "model:%", "tool:_*", "in:\x00", "user:\u202e", "error:'", "key:\x00"]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_any_other_text_is_searched_for(text: str) -> None:
    for path in ("/v1/logs/turns", "/logs/", "/logs/numbers/"):
        assert CLIENT.get(path, {"q": text}).status_code in {200, 400}, path


def test_huge_numbers_in_a_query_find_nothing_and_break_nothing() -> None:
    for text in (
        "tokens:>99999999999999999999",
        "duration:<999999999999d",
        "cost:>$1e300",
        "tokens:1..99999999999999999999",
    ):
        assert CLIENT.get("/v1/logs/turns", {"q": text}).status_code in {200, 400}, text


def test_a_page_far_behind_the_end_is_empty() -> None:
    body = CLIENT.get("/v1/agents?start_index=999999999999&limit=-1").json()
    assert body == {"data": [], "has_more": False, "url": "/v1/agents"}


@pytest.mark.parametrize(
    "after", ["x", "1.x", "--1", "1.2.3", "9" * 25, "9" * 19, "18446744073709551616", "%00", "-1.5"]
)
def test_a_stream_says_what_is_wrong_with_its_cursor(after: str, road: Road) -> None:
    turn = road.post(road.turn_path, {"messages": [{"role": "user", "content": "hello"}]}).json()["turn_id"]
    ways: tuple[dict[str, Any], ...] = ({"QUERY_STRING": f"after={after}"}, {"HTTP_LAST_EVENT_ID": after})
    for given in ways:
        response = road.client.generic("GET", f"{road.turn_path}/{turn}/events", **given)
        if response.status_code == 200:
            body_of(response)  # far behind the end: nothing, and its end
        else:
            assert (response.status_code, refusal(response)["param"]) == (400, "after")


# ----------------------------------------------------------------------------------------------- paths

PATHS = [
    "%00",
    "a%00b",
    "%2e%2e%2f",
    "%252e%252e%252f",
    "..%5c..%5c",
    "%0d%0aX-Header:%20x",
    "é",
    "%ff",
    "%F0%9F",
    "x" * 8000,
]
PATHS += [
    "{agent_id}",
    "null",
    "undefined",
    "-1",
    "0",
    "1",
    "1e9",
    "'",
    "<script>",
    "a b",
    "*",
    "%7B%7D",
    "[]",
    "%E2%80%AE",
]


@pytest.mark.parametrize(
    "wrong", sparing(PATHS, "%00", "..%5c..%5c", "%ff", "x" * 8000, "{agent_id}", "null", "<script>")
)
def test_an_id_that_is_none_is_not_found(wrong: str) -> None:
    for path in (
        f"agents/{wrong}",
        f"agents/{wrong}/sessions",
        f"agents/{wrong}/session/{wrong}/turn/{wrong}/step/{wrong}",
    ):
        response = CLIENT.get(f"/v1/{path}")
        assert response.status_code == 404, path
        refusal(response)
    for path in ("turns", "sessions", "agents"):
        assert CLIENT.get(f"/{path}/{wrong}/").status_code == 404
    for path in ("models", "tools", "toolgroups", "shields", "providers"):
        response = CLIENT.get(f"/v1/{path}/{wrong}")
        assert response.status_code == 404
        assert "not found" in refusal(response)["message"].lower()


@pytest.mark.parametrize("name", ["models", "tools", "toolgroups", "shields"])
def test_ids_of_the_catalogue_may_hold_slashes(name: str) -> None:
    response = CLIENT.get(f"/v1/{name}/meta-llama/Llama-3.3::70B")
    assert response.status_code == 404
    assert "meta-llama/Llama-3.3::70B" in refusal(response)["message"]


UNKNOWN = [
    "/v1",
    "/v1/",
    "/v1/nothing",
    "/v1/agents/",
    "/v1alpha",
    "/v1alpha/models",
    "/v1/openai",
    "/v1//agents",
    "/v1/../v1/x",
]


@pytest.mark.parametrize("path", UNKNOWN)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_an_unknown_path_is_not_found_in_json(path: str, method: str) -> None:
    response = CHECKING.generic(method, path, "{}", "application/json")
    assert response.status_code == 404
    refusal(response)


def example(route: str) -> str:
    return quote(route.replace("<str:", "").replace("<path:", "").replace(">", ""))


ABSENT = re.compile(r"/agents/environments|/vaults")
"""What this server has not of OpenAI's Agents API, and refuses by its name."""


def test_no_route_redirects_for_a_slash() -> None:
    for route, _ in routes("/"):
        for method in ("GET", "POST"):
            response = CLIENT.generic(method, f"{example(route)}/", "{}", "application/json")
            absent = 400 if ABSENT.search(route) else 404
            assert response.status_code in {absent, 405, 404}, route
            refusal(response)


def test_a_method_a_route_has_not_is_said_in_json() -> None:
    for route, view in routes("/"):
        for method in {"get", "post", "put", "patch", "delete", "options", "trace", "brew"} - set(view.actions):
            response = CLIENT.generic(method.upper(), example(route), "{}", "application/json")
            assert response.status_code == 405, (method, route)
            assert method.upper() in refusal(response)["message"]
            assert set(view.actions) <= set(response.headers["Allow"].lower().replace(" ", "").split(","))


# --------------------------------------------------------------------------------------- negotiation


@pytest.mark.parametrize(
    "accept", ["", "*/*", "text/html", "application/xml", "image/png", "application/json;q=0", "x"]
)
def test_accept_makes_no_difference(accept: str, road: Road) -> None:
    headers = {"Accept": accept} if accept else {}
    for path in (
        "/v1/agents",
        f"/v1/agents/{road.agent}",
        "/v1/models",
        "/v1/health",
        "/v1/agents?format=xml",
        "/v1/agents/x",
    ):
        response = road.client.get(path, headers=headers)
        assert response.headers["Content-Type"] == "application/json"
    body = {"messages": [{"role": "user", "content": "hello"}]}
    assert road.post(road.turn_path, body, **headers).json()["turn_id"]
    streamed = road.post(road.turn_path, {**body, "stream": True}, **headers)
    assert streamed.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert b'"turn_complete"' in body_of(streamed)


@pytest.mark.parametrize(
    ("kind", "body"), [("application/json", b""), ("", b""), ("text/plain", b"junk"), ("application/json", b"{")]
)
def test_delete_needs_no_body_and_reads_none(kind: str, body: bytes, road: Road) -> None:
    for path in (f"/v1/agents/{road.agent}/session/{road.session}", f"/v1/agents/{road.agent}"):
        response = road.client.generic("DELETE", path, body, kind, headers={"Accept": "*/*"})
        assert (response.status_code, response.content) == (204, b"")
        assert road.client.generic("DELETE", path, body, kind).status_code == 404


@pytest.mark.parametrize(
    "header", ["X-LlamaStack-Provider-Data", "X-LlamaStack-Client-Version", "X-Stainless-Retry-Count"]
)
@pytest.mark.parametrize("value", ["", "{", "99.99.99", '{"k": "v"}', "-1", "9" * 400, "é", "null"])
def test_headers_of_the_clients_never_break_a_request(header: str, value: str, road: Road) -> None:
    body = {"messages": [{"role": "user", "content": "hello"}]}
    assert road.post(road.turn_path, body, **{header: value}).status_code == 200


@pytest.mark.parametrize("key", ["x" * 257, "é", "a\tb", "\x7f"])
def test_an_impossible_idempotency_key_is_refused(key: str, road: Road) -> None:
    body = {"messages": [{"role": "user", "content": "hello"}]}
    before = stored()
    response = road.post(road.turn_path, body, **{"Idempotency-Key": key})
    assert (response.status_code, refusal(response)["param"]) == (400, "Idempotency-Key")
    assert stored() == before


# ------------------------------------------------------------------------------------------- meanings


def optional(model: Any) -> dict[str, None]:
    return {name: None for name, field in model.model_fields.items() if not field.is_required() and name not in TAGS}


TAGS = {"role", "type"}
"""What tells variants apart is never null."""


def test_null_is_accepted_for_every_optional_field(road: Road) -> None:
    parameter = {"name": "p", "parameter_type": "str", **optional(ToolParameter)}
    tool = {"name": "t", **optional(ToolDef)}
    config = {**PLAIN["agent_config"], **optional(AgentConfig)}
    nested = {
        "sampling_params": optional(SamplingParams),
        "tool_config": optional(ToolConfig),
        "client_tools": [tool, {"name": "u", "parameters": [parameter]}],
        "toolgroups": [{"name": "builtin::demo", **optional(ToolGroupWithArgs)}],
    }
    for body in (
        config,
        {**config, **nested},
        *({**PLAIN["agent_config"], name: None} for name in optional(AgentConfig)),
    ):
        response = road.post("/v1/agents", {"agent_config": body})
        assert response.status_code == 200, response.content
        road.agent = response.json()["agent_id"]
        road.session = road.new_session()
        message = {"role": "user", "content": "hello", **optional(UserMessage)}
        response = road.post(road.turn_path, {"messages": [message], **optional(CreateTurn)})
        assert response.status_code == 200, response.content
    document = {"content": "x", **optional(Document)}
    turn = {
        "messages": [{"role": "user", "content": "hello"}],
        "documents": [document],
        "tool_config": optional(ToolConfig),
    }
    assert road.post(road.turn_path, turn).status_code == 200


def test_null_is_accepted_in_an_answer_too(road: Road) -> None:
    path, call = road.waiting()
    answer = {"call_id": call, "tool_name": "lookup", "content": "x", **optional(ToolResponse)}
    assert road.post(path, {"tool_responses": [answer], **optional(ResumeTurn)}).status_code == 200


def config(**more: Any) -> dict[str, Any]:
    return {"agent_config": {**PLAIN["agent_config"], **more}}


@pytest.mark.parametrize(
    ("more", "param", "words"),
    [
        ({"toolgroups": ["nope"]}, "toolgroups", "'nope' not found"),
        ({"toolgroups": ["builtin::demo/nope"]}, "toolgroups", "not found"),
        ({"toolgroups": [{"name": "nope", "args": {}}]}, "toolgroups", "not found"),
        ({"toolgroups": ["builtin::demo", "builtin::demo"]}, "toolgroups", "two tools named"),
        ({"input_shields": ["nope"]}, "input_shields", "'nope' not found"),
        ({"output_shields": ["demo_guard", "nope"]}, "output_shields", "not found"),
        ({"tool_config": {"tool_choice": "nope"}}, "tool_choice", "'nope'"),
        ({"tool_choice": "nope"}, "tool_choice", "'nope'"),
        ({"tool_choice": "auto", "tool_config": {"tool_choice": "none"}}, "agent_config", "tool_choice is deprecated"),
        (
            {"tool_prompt_format": "json", "tool_config": {"tool_prompt_format": "python_list"}},
            "agent_config",
            "tool_prompt_format is deprecated",
        ),
        ({"max_infer_iters": 0}, "agent_config.max_infer_iters", "greater than or equal to 1"),
        ({"max_infer_iters": -5}, "agent_config.max_infer_iters", "greater"),
        ({"max_infer_iters": 10**6}, "agent_config.max_infer_iters", "less than"),
        ({"max_infer_iters": "many"}, "agent_config.max_infer_iters", "integer"),
        ({"model": ""}, "agent_config.model", "at least 1"),
        ({"model": "x" * 301}, "agent_config.model", "at most 300"),
        ({"name": "x" * 301}, "agent_config.name", "at most 300"),
        ({"client_tools": [{"name": "a"}, {"name": "a"}]}, "client_tools", "unique"),
        ({"client_tools": [{"name": ""}]}, "agent_config.client_tools.0.name", "at least 1"),
        ({"sampling_params": {"strategy": {"type": "top_k", "top_k": 0}}}, None, "greater than"),
        ({"sampling_params": {"strategy": {"type": "top_p", "temperature": 0}}}, None, "greater than"),
        ({"sampling_params": {"max_tokens": -1}}, None, "greater than"),
        ({"response_format": {"type": "nope"}}, "agent_config.response_format", "tag"),
    ],
)
def test_a_configuration_that_means_nothing_is_refused(more: Any, param: str | None, words: str, road: Road) -> None:
    before = stored()
    response = road.post("/v1/agents", config(**more))
    error = refusal(response)
    assert response.status_code == 400
    assert words in error["message"]
    assert param is None or error["param"] == param
    assert stored() == before


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"toolgroups": ["nope"]}, "toolgroups"),
        ({"tool_config": {"tool_choice": "nope"}}, "tool_choice"),
        ({"documents": [{"content": {"uri": "http://localhost/"}}]}, "documents"),
        ({"documents": [{"content": {"uri": "file:///etc/passwd"}}]}, "documents"),
        ({"documents": [{"content": "x", "mime_type": "application/pdf"}]}, "documents"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages.0"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages.0"),
        ({"messages": [{"role": "user"}]}, "messages.0.user.content"),
        ({"messages": "hello"}, "messages"),
        ({"messages": []}, "messages"),
        ({"stream": "perhaps"}, "stream"),
    ],
)
def test_a_turn_that_means_nothing_is_refused(more: Any, param: str, road: Road) -> None:
    before = stored()
    response = road.post(road.turn_path, {"messages": [{"role": "user", "content": "hello"}], **more})
    assert (response.status_code, refusal(response)["param"]) == (400, param)
    assert stored() == before
    assert road.post(road.turn_path, {"messages": [{"role": "user", "content": "hello"}]}).status_code == 200


@pytest.mark.parametrize("model", ["nope", "nope/nope", "scripted/nope", "scripted/", "/", "scripted//x"])
def test_an_unknown_model_fails_the_turn_by_its_name(model: str, road: Road) -> None:
    road.agent = road.post("/v1/agents", config(model=model)).json()["agent_id"]
    road.session = road.new_session()
    response = road.post(road.turn_path, {"messages": [{"role": "user", "content": "hello"}]})
    assert response.status_code in {200, 404}
    if response.status_code == 404:
        assert model.rpartition("/")[2] in refusal(response)["message"]
    assert road.client.get("/logs/").status_code == 200


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([], None),
        (["nope"], "unknown_call_id"),
        (["CALL", "nope"], "unknown_call_id"),
        (["CALL", "CALL"], None),
        ({"CALL": "x"}, None),
        pytest.param([f"n{number}" for number in range(60_000)], "unknown_call_id", id="very many"),
    ],
)
def test_answers_that_nobody_waits_for_are_refused(answers: Any, code: str | None, road: Road) -> None:
    path, call = road.waiting()
    given = answers
    if isinstance(answers, list):
        ids_given = [call if one == "CALL" else one for one in answers]
        given = [{"call_id": one, "tool_name": "lookup", "content": "x"} for one in ids_given]
    response = road.post(path, {"tool_responses": given})
    error = refusal(response)
    assert response.status_code == 400
    assert error["param"].startswith("tool_responses")
    assert code is None or error["code"] == code
    right = {"call_id": call, "tool_name": "lookup", "content": "x"}
    assert road.post(path, {"tool_responses": [right]}).status_code == 200
    again = road.post(path, {"tool_responses": [right]})
    assert again.status_code == 409
    assert again.headers["x-should-retry"] == "false"
    refusal(again)


def test_ids_that_are_unknown_are_not_found_on_every_route(road: Road) -> None:
    unknown = {name: ids.public(kind, ids.new_key()) for name, kind in KINDS.items()}
    before = stored()
    for route, view in routes("/v1/agents/"):
        if ABSENT.search(route) or route.startswith(("/v1/agents/sessions", "/v1/agents/automations")):
            continue  # of those `tests/access` and their own tests ask
        path = route
        for name, value in unknown.items():
            path = path.replace(f"<str:{name}>", value)
        bodies = {"turn": {"messages": [{"role": "user", "content": "x"}]}, "session": {"session_name": "x"}}
        answer = {"tool_responses": [{"call_id": "c", "tool_name": "t", "content": "r"}]}
        for method in view.actions:
            body = {**bodies, "resume": answer}.get(path.rpartition("/")[2], {})
            response = road.client.generic(method.upper(), path, json.dumps(body), "application/json")
            assert response.status_code == 404, path
            assert "not found" in refusal(response)["message"]
    assert stored() == before


KINDS = {"agent_id": ids.Kind.AGENT, "session_id": ids.Kind.SESSION, "turn_id": ids.Kind.TURN, "step_id": ids.Kind.STEP}
