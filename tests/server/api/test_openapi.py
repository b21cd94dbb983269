"""The description of the API says what the API does: every route, every type, checked against answers."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from django.test import Client
from jsonschema import Draft202012Validator
from pydantic import BaseModel
from referencing import Registry
from referencing.jsonschema import DRAFT202012

import agents
from agents.base.api.error_bodies import is_messages_path
from agents.openai_agents.api.base import Undescribed
from agents.server.api.openapi import PUBLIC_NAMES, SchemaView, typed_description
from agents.server.api.openapi import description as make_description
from agents.server.api.urls import PREFIXES
from agents.telemetry.api.otlp import ReportView
from tests.access.asking import PARAM
from tests.server.api.test_bad_input import AGENT, PLAIN, SESSION, TURN, WAITS, Road
from tests.support.inprocess import body_of

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

REF = "#/components/schemas/"


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return dict(json.loads(msgspec.json.encode(typed_description())))


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def nodes(value: Any) -> Iterator[Any]:
    """Everything inside a JSON value."""
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(inner)


def test_it_is_openapi_3_1(description: dict[str, Any]) -> None:
    response = Client().get("/v1/openapi.json")
    assert response.headers["Content-Type"] == "application/json"
    assert body_of(response) == make_description()
    assert description["openapi"] == "3.1.0"
    assert all(description["info"][word] for word in ("title", "version"))


def test_every_route_and_method_is_described_once(description: dict[str, Any]) -> None:
    [table] = [table for base, table in PREFIXES if base == "v1/"]  # the others are aliases of it
    wanted = {
        (PARAM.sub(r"{\1}", f"/v1/{route}"), method)
        for route, view in table
        if view is not SchemaView and not issubclass(view, (ReportView, Undescribed))  # forms of others, and nothing
        for method in view.actions
    }
    assert {(path, method) for path, method, _ in operations(description)} == wanted
    names = [operation["operationId"] for _, _, operation in operations(description)]
    assert len(names) == len(set(names))


def test_every_parameter_of_a_path_is_described(description: dict[str, Any]) -> None:
    for path, _, operation in operations(description):
        given = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path" and one["required"]}
        assert given == set(re.findall(r"{(\w+)}", path))


CURSOR = {"after", "before", "limit", "order"}
LEVELS = ("session", "turn", "response", "step")
QUERIES = {
    "list_runtime_tools": {"tool_group_id", "mcp_endpoint"},
    "list_agents": {"start_index", "limit"},
    "list_sessions": {"start_index", "limit"},
    "get_session": {"turn_ids"},
    "follow_turn": {"after"},
    **{f"list_{level}_log": {"q", "tz", "sort", "after", "before", "limit", "order"} for level in LEVELS},
    **{f"{level}_log_{name}": {"q", "tz", "by", "limit"} for level in LEVELS for name in ("facets", "stats")},
    **{f"{level}_log_histogram": {"q", "tz", "buckets"} for level in LEVELS},
    "export_turn_log": {"q", "tz", "sort", "format", "fields", "bom", "whole"},
    **{
        f"export_{level}_log": {"q", "tz", "sort", "format", "fields", "bom"}
        for level in ("session", "step", "response")
    },
    **{key: {"after", "limit", "order"} for key in ("list_artifacts", "list_agent_traces")},
    **{f"list_agent_{kind}": {"after", "limit", "order"} for kind in ("session_items", "turns", "turn_items")},
    **{f"list_subagent{kind}": {"after", "limit", "order"} for kind in ("s", "_items", "_turns", "_turn_items")},
    "list_automations": {"after", "limit", "order", "session_id"},
    "list_invocations": {"after", "limit", "order"},
    "list_agent_sessions": {"after", "limit", "order", "agent_id"},
    "stream_agent_session_events": {"include_obfuscation"},
    "list_feedback": {"turn_id", "session_id", "step_id", "response_id", "q", "tz", "after", "limit", "order"},
    **{key: {"tag"} for key in ("remove_turn_tags", "remove_session_tags", "remove_step_tags")},
    "list_tools": {"toolgroup_id"},
    "list_chat_completions": {"after", "limit", "model", "order"},
    "list_batches": {"after", "limit"},
    "list_chat_completion_messages": {"after", "limit", "order"},
    **dict.fromkeys(("list_conversations", "list_conversation_items", "list_input_items"), CURSOR),
    "list_responses": {*CURSOR, "model", "q", "conversation"},
    "get_response": {"include", "stream", "starting_after"},
    "list_files": {"after", "before", "limit", "order", "purpose"},
    "list_vector_stores": {"after", "before", "limit", "order"},
    "list_vector_store_files": {"after", "before", "limit", "order", "filter"},
    "list_file_batch_files": {"after", "before", "limit", "order", "filter"},
    **dict.fromkeys(("list_webhook_endpoints", "list_webhook_deliveries", "list_prompts", "list_budgets"), CURSOR),
    "get_prompt": {"version"},
}


def test_every_query_is_described(description: dict[str, Any]) -> None:
    found = {
        operation["operationId"]: {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}
        for _, _, operation in operations(description)
    }
    assert {name: given for name, given in found.items() if given} == QUERIES


FORMS = {"upload_file", "add_upload_part", "create_import"}
"""Operations whose body is a form with files."""


SAY_NOTHING = {"create_agent_session_events"}
"""What is answered with 202 and no body."""


def test_every_request_and_answer_has_its_type(description: dict[str, Any]) -> None:
    takes_none = {
        "cancel_turn",
        "cancel_file_batch",
        "cancel_response",
        "resend_webhook_delivery",
        "cancel_upload",
        "cancel_batch",
    }
    takes_none |= {"pause_automation", "resume_automation", "create_invocation"}
    for path, method, operation in operations(description):
        if method in ("post", "put", "patch") and operation["operationId"] not in takes_none:
            [kind] = operation["requestBody"]["content"]
            schema = operation["requestBody"]["content"][kind]["schema"]
            wanted = "multipart/form-data" if operation["operationId"] in FORMS else "application/json"
            assert (kind, schema["$ref"].startswith(REF)) == (wanted, True), path
        else:
            assert "requestBody" not in operation, path
        [status] = succeeding(operation)
        content = operation["responses"][status].get("content", {})
        assert (status == "204" or operation["operationId"] in SAY_NOTHING) == (not content), path
        assert all(one["schema"] for one in content.values()), path
    streamed = {
        operation["operationId"]
        for _, _, operation in operations(description)
        if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    }
    chats = {"create_chat_completion", "create_completion", "inference_chat_completion", "inference_completion"}
    assert streamed == {
        "create_agent_session",
        "create_turn",
        "stream_agent_session_events",
        "resume_turn",
        "fork_turn",
        "follow_turn",
        "create_response",
        "get_response",
        "create_message",
        *chats,
    }


def succeeding(operation: dict[str, Any]) -> list[str]:
    return [status for status in operation["responses"] if status < "400"]


def test_every_error_has_its_type(description: dict[str, Any]) -> None:
    for path, method, operation in operations(description):
        errors = {status: one for status, one in operation["responses"].items() if status >= "400"}
        told = {"400", "403", "414", "431", "503"} <= set(errors)
        body = "requestBody" not in operation or {"413", "415"} <= set(errors)
        named = "{" not in path or "404" in errors
        assert (told, body, named) == (True, True, True), (method, path)
        for one in errors.values():
            kind = "MessagesErrorBody" if is_messages_path(path) else "ErrorBody"
            assert one["content"]["application/json"]["schema"] == {"$ref": f"{REF}{kind}"}
            assert one["description"]


def test_errors_are_as_described(description: dict[str, Any]) -> None:
    client, error = Client(), validator(description, "ErrorBody")
    for answer in (
        client.get("/v1/agents/x"),
        client.get("/v1/logs/turns?q=nope:1"),
        client.post("/v1/agents", "{}", content_type="application/json"),
        client.post("/v1/agents", "x", content_type="text/plain"),
    ):
        assert answer.status_code >= 400
        error.validate(answer.json())
    validator(description, "MessagesErrorBody").validate(client.get("/v1/messages").json())


def test_what_answers_a_deletion_is_described(description: dict[str, Any]) -> None:
    found = {operation["operationId"]: operation for _, method, operation in operations(description)}
    assert succeeding(found["delete_agent"]) == ["204"]
    assert succeeding(found["delete_response"]) == succeeding(found["remove_turn_tags"]) == ["200"]
    assert found["delete_response"]["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]


def test_events_of_streams_are_described_as_events(description: dict[str, Any]) -> None:
    """What stands in a stream is a text, in which there is JSON of a type."""
    seen = 0
    for _, _, operation in operations(description):
        for one in operation["responses"].values():
            if event := one.get("content", {}).get("text/event-stream"):
                data = event["schema"]["properties"]["data"]
                assert (data["type"], data["contentMediaType"]) == ("string", "application/json")
                assert data["contentSchema"]["$ref"].startswith(REF)
                seen += 1
    assert seen == 13


# ----------------------------------------------------------------------------------------------- types


def test_names_of_types_are_legal_and_lead_somewhere(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    assert [name for name in schemas if not re.fullmatch(r"[A-Za-z0-9._-]+", name)] == []
    refs = {node["$ref"] for node in nodes(description) if isinstance(node, dict) and "$ref" in node}
    assert {ref.removeprefix(REF) for ref in refs} == set(schemas)
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)


def wire_types() -> dict[str, set[type[BaseModel]]]:
    """Every type of the schemas by the name it has in the description."""
    found: dict[str, set[type[BaseModel]]] = defaultdict(set)
    for info in pkgutil.walk_packages(agents.__path__, "agents."):
        if "schemas" not in info.name.split("."):
            continue
        module = importlib.import_module(info.name)
        for one in vars(module).values():
            if isinstance(one, type) and issubclass(one, BaseModel):
                found[one.__name__].add(one)
    return found


def reached(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema.get("$defs", {}), schema["title"]: {key: value for key, value in schema.items() if key != "$defs"}}


def test_requests_are_described_as_they_are_read(description: dict[str, Any]) -> None:
    """Null and texts where they are taken, also in types that answers have, too."""
    kinds = {kind.__name__: kind for all_of_a_name in wire_types().values() for kind in all_of_a_name}
    described = description["components"]["schemas"]
    for _, _, operation in operations(description):
        for one in operation.get("requestBody", {}).get("content", {}).values():
            name = one["schema"]["$ref"].removeprefix(REF)
            read = reached(kinds[name].model_json_schema(mode="validation", ref_template=f"{REF}{{model}}"))
            assert {inner: described[inner] for inner in read} == read


def test_no_two_types_share_a_name(description: dict[str, Any]) -> None:
    """Else one would be described as the other, silently."""
    found, told = wire_types(), defaultdict[str, list[Any]](list)
    for kind in {kind for kinds in found.values() for kind in kinds} - {BaseModel}:
        for mode in ("validation", "serialization"):
            for name, schema in reached(kind.model_json_schema(mode=mode, ref_template=f"{REF}{{model}}")).items():
                told[name].append(schema)  # in a union a type says more of itself than alone
    for name, described in description["components"]["schemas"].items():
        assert len(found[name]) == 1, name
        assert described in told[name], name


FREE_UNIONS = {"TextItem", "ImageItem", "Url", "ToolGroupWithArgs", "ToolCall"}
"""Wire types that stand beside a plain text in a union, or (documents) beside each other without a tag."""


TOLD_OTHERWISE = [
    {"string", "array"},
    {
        "MessageItem",
        "FunctionCallItem",
        "FunctionOutputItem",
        "ClientCallItem",
        "ClientOutputItem",
        "AdditionalToolsItem",
        "ApprovalItem",
        "ApprovalRequestItem",
        "CompactionItem",
        "CompactionTriggerItem",
        "ReferenceItem",
        "OtherItem",
    },
    {
        "FunctionParam",
        "WebSearchTool",
        "FileSearchTool",
        "McpToolParam",
        "CodeInterpreterTool",
        "CustomTool",
        "NamespaceTool",
        "ClientTool",
        "ToolSearch",
        "OtherTool",
    },
    {"string", "AllowedTools", "ChosenTool"},
    {"MessageTool", "VendorTool"},
]
"""A text or a list; items, of which a message need not say what it is; tools, which may be of a type that is not known;
and the choice of one."""


def test_unions_are_told_apart_by_a_word(description: dict[str, Any]) -> None:
    seen = 0
    for node in nodes(description["components"]["schemas"]):
        if not isinstance(node, dict):
            continue
        if "oneOf" in node and "discriminator" not in node:
            assert {one.get("$ref", one.get("type", "")).removeprefix(REF) for one in node["oneOf"]} in TOLD_OTHERWISE
        elif "oneOf" in node:
            mapping = node["discriminator"]["mapping"]
            assert {one["$ref"] for one in node["oneOf"]} == set(mapping.values())
            for word, ref in mapping.items():
                kind = description["components"]["schemas"][ref.removeprefix(REF)]
                told = kind["properties"][node["discriminator"]["propertyName"]]
                assert word in (told.get("const"), *told.get("enum", ()))
            seen += 1
        refs = {one["$ref"].removeprefix(REF) for one in node.get("anyOf", ()) if "$ref" in one}
        assert len(refs) < 2 or refs <= FREE_UNIONS, refs
    assert seen > 8


# --------------------------------------------------------------------------------------------- answers


def validator(description: dict[str, Any], name: str) -> Draft202012Validator:
    registry: Any = Registry().with_resource("urn:api", DRAFT202012.create_resource(description))
    return Draft202012Validator({"$ref": f"urn:api{REF}{name}"}, registry=registry)


@pytest.mark.parametrize(("body", "name"), [(AGENT, "CreateAgent"), (SESSION, "CreateSession"), (TURN, "CreateTurn")])
def test_what_is_accepted_is_described(body: Any, name: str, description: dict[str, Any]) -> None:
    validator(description, name).validate(body)


def test_answers_are_as_described(description: dict[str, Any]) -> None:
    road = Road()
    road.post("/v1/agents", AGENT)
    hello = {"messages": [{"role": "user", "content": "hello"}]}
    turn = road.post(road.turn_path, hello).json()
    path = f"/v1/agents/{road.agent}/session/{road.session}"
    step = turn["steps"][0]["step_id"]
    answers = {
        "AgentCreated": road.post("/v1/agents", PLAIN).json(),
        "AgentObject": road.client.get(f"/v1/agents/{road.agent}").json(),
        "AgentPage": road.client.get("/v1/agents").json(),
        "SessionPage": road.client.get(f"/v1/agents/{road.agent}/sessions").json(),
        "SessionObject": road.client.get(path).json(),
        "TurnObject": turn,
        "StepEnvelope": road.client.get(f"{path}/turn/{turn['turn_id']}/step/{step}").json(),
        "TurnPage": road.client.get("/v1/logs/turns").json(),
    }
    waiting = road.post(road.turn_path, WAITS).json()
    assert waiting["status"] == "awaiting_input"
    validator(description, "TurnObject").validate(waiting)
    for name, answer in answers.items():
        validator(description, name).validate(answer)


def test_frames_are_as_described(description: dict[str, Any]) -> None:
    road = Road()
    frame = validator(description, "TurnChunk")
    seen = set()
    for body in (WAITS, {"messages": [{"role": "user", "content": "hello"}]}):
        frames = body_of(road.post(road.turn_path, {**body, "stream": True})).decode().split("\n\n")
        for text in frames:
            if text.startswith("data: "):
                chunk = json.loads(text.removeprefix("data: "))
                frame.validate(chunk)
                seen.add(chunk["event"]["payload"]["event_type"])
    wanted = {"turn_start", "step_start", "step_progress", "step_complete", "turn_complete", "turn_awaiting_input"}
    assert seen == wanted


def test_types_keep_the_names_that_clients_know() -> None:
    """Generated clients name their types after these, whatever our classes are called."""
    text = make_description()
    components = json.loads(text)["components"]["schemas"]
    assert set(PUBLIC_NAMES.values()) <= set(components)
    assert not set(PUBLIC_NAMES) & set(components)
    assert "#/components/schemas/TurnObject" not in text.decode()
