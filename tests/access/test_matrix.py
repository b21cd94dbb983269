"""Every route of the API for every actor and every object: no leak, nothing undeclared.

The routes are read from the URL table, so a new one is in the matrix the day it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from agents.base.access import ACTIONS
from agents.base.api.views import ApiView
from agents.base.lazy_import import LazyFunction
from agents.batches.api.batches import BatchListView
from agents.budgets.api import Budgets
from agents.feedback.api import FeedbackCollection, FeedbackDetail
from agents.forks.api import TurnFork
from agents.knowledge.api.files import FileListView
from agents.knowledge.api.uploads_in_parts import UploadComplete, UploadParts
from agents.knowledge.api.vector_dbs import RagInsertion, RagSearch, VectorDBDetail, VectorInsertion, VectorSearch
from agents.knowledge.api.vector_store_files import FileBatchCreate, StoreFileListView
from agents.llama_stack.api import AgentDetail, SessionDetail, TurnCreate, TurnResume
from agents.logs.api.saved_views import ViewAll, ViewOne
from agents.loop.api import ModelDetail, StepDecision
from agents.openai_agents.api.absent import NoEnvironments, NoVaults
from agents.openai_agents.api.history import Artifact
from agents.openai_agents.api.sessions import AgentSessionEvents, AgentSessions
from agents.openai_agents.api.subagents import Subagent, SubagentItems, SubagentTurn, SubagentTurnItems, SubagentTurns
from agents.record.store import agents
from agents.responses.api.prompts import PromptDetail
from agents.responses.api.responses import ResponseCancel, ResponseCreate
from agents.safety.api import ShieldDetailView
from agents.server.api.agents import SharedAgentDetail
from agents.server.api.urls import routes
from agents.telemetry.api.imports import ImportList
from agents.telemetry.api.otlp import RepeatedPathView
from agents.telemetry.api.reports import (
    AgentsSdkTraces,
    LangSmithBatch,
    LangSmithMultipart,
    LangSmithRun,
    LangSmithRuns,
)
from agents.telemetry.api.scores import LangfuseIngestion, LangSmithFeedbackDetail
from agents.tools.api.tools import ToolGroupDetail
from agents.webhooks.api.endpoints import WebhookTest
from tests.access.asking import PARAM, Cell, ask, filled, leaks
from tests.access.matrix import EVERYONE, OWNED, Target, Who, World, admins, api_status
from tests.support.cases import sparing
from tests.support.inprocess import told

# ------------------------------------------------------------------------------------------- declared

UNGUARDED = {"healthz", "readyz"}
"""Answer anyone: whether the server lives."""


def every_route(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from every_route(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern.callback


def declares(view: Any) -> bool:
    cls = getattr(view, "cls", None)
    if cls is None:
        view = view.imported if isinstance(view, LazyFunction) else view
        return hasattr(view, "action") and (view.action is None or view.action in ACTIONS)
    handled = {method for method in cls.http_method_names if hasattr(cls, method)} - {"options"}
    return handled == set(cls.actions) and {*cls.actions.values(), None} <= {*ACTIONS, None}


def test_every_route_declares_its_action() -> None:
    found = {route: view for route, view in every_route() if not route.startswith("admin/") and route not in UNGUARDED}
    assert len(found) > 50
    assert [route for route, view in found.items() if not declares(view)] == []


def test_a_view_that_declares_nothing_cannot_be_defined() -> None:
    with pytest.raises(Exception, match="Silent: declare the action of post, put"):
        type("Silent", (ApiView,), {"actions": {"get": "read"}, "get": id, "post": id, "put": id})


# ------------------------------------------------------------------------------------------------ API

SIGNALS = (("TracesView", "Spans"), ("LogsView", "Logs"), ("MetricsView", "Metrics"))
BODIES: dict[str, dict[str, Any]] = {
    "FeedbackCollection": {"turn_id": "nobody's", "rating": "up"},
    "ViewAll": {"name": "by the matrix", "q": "status:failed"},
    "ViewOne": {"name": "by the matrix"},
    **{name: {"tags": ["by the matrix"]} for name in ("TurnTags", "SessionTags", "StepTags")},
    "ShieldList": {"shield_id": "by the matrix", "provider_id": "scripted"},
    "ShieldRun": {"shield_id": "demo_guard", "messages": [{"role": "user", "content": "hello"}], "params": {}},
    "Moderations": {"input": "hello", "model": "demo_guard"},
    "ModelList": {"model_id": "by the matrix"},
    "ChatCompletionList": {"model": "scripted/fast", "messages": [{"role": "user", "content": "hello"}]},
    "ChatCompletionDetail": {"metadata": {"by": "the matrix"}},
    "MessageCreate": {"model": "scripted/fast", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]},
    "MessageTokens": {"model": "scripted/fast", "messages": [{"role": "user", "content": "hello"}]},
    "InferenceChatCompletion": {"model_id": "scripted/fast", "messages": [{"role": "user", "content": "hello"}]},
    "BatchListView": {
        **{"input_file_id": "file-nobodys", "endpoint": "/v1/chat/completions", "completion_window": "24h"},
    },
    "UploadCreate": {"bytes": 6, "filename": "by the matrix", "mime_type": "text/plain", "purpose": "assistants"},
    "UploadComplete": {"part_ids": ["part_nobodys"]},
    "VectorStoreListView": {"name": "by the matrix"},
    "VectorStoreDetail": {"name": "by the matrix"},
    "VectorStoreSearch": {"query": "zebra"},
    "StoreFileListView": {"file_id": "file-nobody's"},
    "StoreFileDetail": {"attributes": {}},
    "FileBatchCreate": {"file_ids": ["file-nobody's"]},
    "ResponseCreate": {"model": "scripted/fast", "input": "hello", "conversation": "conv_nobodys"},
    "ConversationCreate": {"metadata": {"name": "by the matrix"}},
    "ConversationDetail": {"metadata": {"name": "by the matrix"}},
    "ContextCompact": {"model": "scripted/fast", "input": "hello"},
    "InputTokenCount": {"input": "hello"},
    "ConversationItems": {"items": [{"role": "user", "content": "by the matrix"}]},
    "CompletionCreate": {"model": "scripted/fast", "prompt": "hello"},
    "InferenceCompletion": {"model_id": "scripted/fast", "content": "hello"},
    "InferenceEmbeddings": {"model_id": "scripted/embed", "contents": ["hello"]},
    "EmbeddingCreate": {"model": "scripted/embed", "input": "hello"},
    "SpanQuery": {"attribute_filters": [], "attributes_to_return": []},
    "VectorDBList": {"vector_db_id": "by the matrix", "embedding_model": "keyword"},
    "VectorInsertion": {"vector_db_id": "nobody's", "chunks": []},
    "VectorSearch": {"vector_db_id": "nobody's", "query": "zebra"},
    "RagInsertion": {"vector_db_id": "nobody's", "documents": []},
    "RagSearch": {"vector_db_ids": ["nobody's"], "content": "zebra"},
    "ToolGroupList": {"toolgroup_id": "builtin::websearch", "provider_id": "brave-search"},
    "Invocation": {"tool_name": "lookup_order", "kwargs": {"order": "8841"}},
    **{
        name: {"agent_config": {"model": "scripted/fast", "instructions": "by the matrix"}}
        for name in ("AgentList", "SharedAgentList")
    },
    "SharedAgentDetail": {"metadata": {"by": "the matrix"}},
    "AgentSessions": {"agent_id": "agent_nobodys", "environment": {"type": "none"}, "input": "hello"},
    "AgentSession": {"metadata": {"by": "the matrix"}},
    "AgentSessionEvents": {"events": []},
    "SessionCreate": {"session_name": "by the matrix"},
    "AgentsSdkTraces": {"data": []},
    "LogTools": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search_log", "arguments": {"limit": 100, "max_chars": 40_000}},
    },
    **{name: {f"resource{what}": []} for name, what in SIGNALS},
    **{name: {"name": "by the matrix"} for name in ("LangSmithRuns", "LangSmithRun")},
    "LangSmithBatch": {"post": []},
    "LangSmithFeedbackView": {"run_id": "by-the-matrix", "key": "helpful", "score": 1},
    "LangSmithFeedbackDetail": {"score": 1},
    "LangfuseScores": {"traceId": "by-the-matrix", "name": "helpful", "value": 1},
    "LangfuseIngestion": {"batch": []},
    "TurnCreate": {"messages": [{"role": "user", "content": "hello"}], "stream": False},
    "TurnFork": {"step": 1},
    "StepDecision": {"outcome": "not_done"},
    "WebhookEndpoints": {"name": "mine", "url": "https://93.184.215.14/hook", "event_types": ["turn.failed"]},
    "WebhookEndpointDetail": {"name": "by the matrix"},
    "WebhookTest": {"event_type": "turn.failed"},
    "Automations": {
        "type": "once",
        "name": "by the matrix",
        "run_at": 4_000_000_000,
        "target": {
            "type": "new_session",
            "environment": {"type": "none"},
            "agent": {"model": "scripted/fast"},
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
        },
    },
    "AutomationDetail": {"name": "by the matrix"},
    "Budgets": {"tokens": 5, "agent_id": "nobody's"},
    "BudgetDetail": {"name": "by the matrix"},
    "PromptCollection": {"prompt": "by the matrix"},
    "PromptDetail": {"prompt": "by the matrix", "version": 1, "set_as_default": False},
    "PromptDefaultVersion": {"version": 1},
    "TurnResume": {"tool_responses": [{"call_id": "c", "tool_name": "t", "content": "r"}], "stream": False},
}
NO_SUBAGENTS = (Subagent, SubagentItems, SubagentTurns, SubagentTurn, SubagentTurnItems)
"""What is asked of a sub-agent that there is not."""
DONE: dict[tuple[str, type[ApiView]], int] = {
    ("post", FeedbackCollection): 404,
    ("delete", FeedbackDetail): 204,
    ("post", ViewAll): 201,
    ("delete", ViewOne): 204,
    ("delete", VectorDBDetail): 204,
    ("delete", ShieldDetailView): 204,
    ("delete", ModelDetail): 204,
    **dict.fromkeys([("post", view) for view in (VectorInsertion, VectorSearch, RagInsertion, RagSearch)], 404),
    ("post", FileListView): 415,
    ("post", UploadParts): 415,
    ("post", BatchListView): 404,
    ("post", UploadComplete): 400,
    ("post", ImportList): 415,
    ("post", AgentsSdkTraces): 204,
    ("post", RepeatedPathView): 404,
    ("post", LangSmithBatch): 202,
    ("post", LangfuseIngestion): 207,
    ("post", LangSmithMultipart): 415,
    ("post", LangSmithRuns): 400,
    ("patch", LangSmithRun): 202,
    ("patch", LangSmithFeedbackDetail): 404,
    **dict.fromkeys([("post", view) for view in (StoreFileListView, FileBatchCreate)], 404),
    ("post", ResponseCreate): 404,
    ("post", ResponseCancel): 409,
    ("delete", ToolGroupDetail): 400,
    ("post", TurnCreate): 400,
    ("post", TurnFork): 400,
    ("post", StepDecision): 409,
    ("post", TurnResume): 409,
    ("post", WebhookTest): 400,
    ("post", Budgets): 404,
    ("put", PromptDetail): 409,
    ("delete", PromptDetail): 204,
    **dict.fromkeys([("delete", view) for view in (AgentDetail, SharedAgentDetail)], 204),
    ("post", AgentSessions): 404,
    ("post", AgentSessionEvents): 202,
    **dict.fromkeys([("get", view) for view in NO_SUBAGENTS], 404),
    **dict.fromkeys([(method, Artifact) for method in ("get", "delete")], 404),
    **{(method, view): 400 for view in (NoEnvironments, NoVaults) for method in ("get", "post", "delete")},
    ("delete", SessionDetail): 204,
}
"""A disabled agent starts no turn, a response that is over is not cancelled, a failed turn is not
resumed, a group of the settings is not unregistered, an upload is no JSON, a webhook to a private address is not
tested, a version of a prompt follows the last one only; all are said only to those let in."""


ENDLESS = re.compile(r"/v1/agents/sessions/[^/]+/events")
"""A stream that ends with its session; what is in it, `tests/openai_agents` looks at."""


def api_cells(world: World, who: Who, catalogue: dict[str, str]) -> Iterator[Cell]:
    for route, view in routes("/"):
        params = PARAM.findall(route)
        owned = [name for name in params if name in OWNED]
        assert set(params) <= {*OWNED, *catalogue}, f"teach the matrix what {route} names"
        for method, action in view.actions.items():
            done = DONE.get((method, view), 200)
            for target in world.targets(owned) if owned else [Target("all", {})]:
                expected = admins(who, view.admins_only, api_status(who, action, target, done), done)
                if method == "delete" and expected == done:
                    target = _fresh(world, owned)
                yield Cell(
                    method, filled(route, {**catalogue, **target.ids}), target, expected, BODIES.get(view.__name__)
                )


def _fresh(world: World, params: list[str]) -> Target:
    chain = world.fresh()
    return Target("fresh", {name: chain.ids[name] for name in params}, "red")


@pytest.fixture
def catalogue(world: World) -> dict[str, str]:
    client, secret = Client(), world.who["admin"].secret
    headers = {"Authorization": f"Bearer {secret}"}
    lists = {"tool_name": "tools", "toolgroup_id": "toolgroups"}
    first = {param: client.get(f"/v1/{name}", headers=headers).json()["data"][0] for param, name in lists.items()}
    free = {"provider_id": "scripted", "run_id": "a sender's own", "rest": "of what is not there"}
    free |= {"subagent_id": "nobody", "score_id": "nobody's"}
    return {param: str(row["identifier"]) for param, row in first.items()} | free


def test_each_body_is_of_a_view_that_exists() -> None:
    assert set(BODIES) <= {view.__name__ for _, view in routes("/")}


QUICK = ("anonymous", "outsider", "owner", "read key", "wrong key")


@pytest.mark.parametrize("name", sparing(EVERYONE, *QUICK))
def test_the_api_does_what_the_rule_says(name: str, world: World, catalogue: dict[str, str]) -> None:
    who, client = world.who[name], Client(raise_request_exception=False)
    wrong, seen = [], 0
    for cell in api_cells(world, who, catalogue):
        response = ask(client, cell, **who.headers)
        seen += 1
        if cell.method == "get" and cell.target.name in {"all", "red", "green"}:
            assert client.head(cell.path, headers=who.headers).status_code == response.status_code, cell
        said = b"" if ENDLESS.fullmatch(cell.path) and cell.method == "get" else told(response)
        found = leaks(said, who, world, f"{cell}{cell.body}")
        if response.status_code != cell.expected or found:
            wrong.append(f"{cell} was answered {response.status_code}, telling {found}")
    assert seen > 300
    assert not wrong, "\n".join(wrong)
    assert agents.get(world.owner, agents.key_of(world.red.ids["agent_id"])).disabled  # nobody has touched it
