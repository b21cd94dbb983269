"""The table of ``/v1`` and its aliases: ``/v1alpha`` for the agents of 0.3.x clients, and
``/v1/openai/v1`` for OpenAI clients with the older base URL. Clients of LangSmith and Langfuse report under
paths of their own."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, path, re_path

from agents.base.api import not_found
from agents.base.api.views import ApiView
from agents.feedback import api as feedback
from agents.forks import api as forks
from agents.knowledge.api import files, vector_dbs, vector_store_files, vector_stores
from agents.llama_stack import api as agents
from agents.logs.api import exports, logs, numbers, saved_views
from agents.loop import api as models
from agents.relay.api import completions, embeddings, inference, text_completions
from agents.responses.api import conversations, responses
from agents.safety import api as safety
from agents.server.api import catalogue
from agents.server.api.openapi import SchemaView
from agents.telemetry.api import imports, otlp, reports, spans
from agents.tools.api import tool_runtime, tools

_SESSION = "agents/<str:agent_id>/session/<str:session_id>"
_TURN = f"{_SESSION}/turn/<str:turn_id>"
_STORE = "vector_stores/<str:vector_store_id>"
_BATCH = f"{_STORE}/file_batches/<str:batch_id>"

AGENTS: list[tuple[str, type[ApiView]]] = [
    ("agents", agents.AgentList),
    ("agents/<str:agent_id>", agents.AgentDetail),
    ("agents/<str:agent_id>/session", agents.SessionCreate),
    ("agents/<str:agent_id>/sessions", agents.SessionList),
    (_SESSION, agents.SessionDetail),
    (f"{_SESSION}/turn", agents.TurnCreate),
    (_TURN, agents.TurnDetail),
    (f"{_TURN}/resume", agents.TurnResume),
    (f"{_TURN}/cancel", agents.TurnCancel),
    (f"{_TURN}/fork", forks.TurnFork),
    (f"{_TURN}/events", agents.TurnEvents),
    (f"{_TURN}/step/<str:step_id>", agents.StepDetail),
]
OPENAI: list[tuple[str, type[ApiView]]] = [
    ("models", models.ModelList),
    ("models/<path:model_id>", models.ModelDetail),
    ("responses", responses.ResponseCreate),
    ("responses/<str:response_id>", responses.ResponseDetail),
    ("responses/<str:response_id>/cancel", responses.ResponseCancel),
    ("responses/<str:response_id>/input_items", responses.ResponseItems),
    ("conversations", conversations.ConversationCreate),
    ("conversations/<str:conversation_id>", conversations.ConversationDetail),
    ("conversations/<str:conversation_id>/items", conversations.ConversationItems),
    ("conversations/<str:conversation_id>/items/<str:item_id>", conversations.ConversationItem),
    ("moderations", safety.Moderations),
    ("embeddings", embeddings.EmbeddingCreate),
    ("completions", text_completions.CompletionCreate),
    ("chat/completions", completions.ChatCompletionList),
    ("chat/completions/<path:completion_id>", completions.ChatCompletionDetail),
    ("files", files.FileList),
    ("files/<str:file_id>", files.FileDetail),
    ("files/<str:file_id>/content", files.FileContent),
    ("vector_stores", vector_stores.VectorStoreList),
    (_STORE, vector_stores.VectorStoreDetail),
    (f"{_STORE}/search", vector_stores.VectorStoreSearch),
    (f"{_STORE}/files", vector_store_files.StoreFileList),
    (f"{_STORE}/files/<str:file_id>", vector_store_files.StoreFileDetail),
    (f"{_STORE}/files/<str:file_id>/content", vector_store_files.StoreFileText),
    (f"{_STORE}/file_batches", vector_store_files.FileBatchCreate),
    (_BATCH, vector_store_files.FileBatchDetail),
    (f"{_BATCH}/files", vector_store_files.FileBatchFiles),
    (f"{_BATCH}/cancel", vector_store_files.FileBatchCancel),
]
REST: list[tuple[str, type[ApiView]]] = [
    ("tools", tools.ToolList),
    ("tools/<path:tool_name>", tools.ToolDetail),
    ("toolgroups", tools.ToolGroupList),
    ("toolgroups/<path:toolgroup_id>", tools.ToolGroupDetail),
    ("tool-runtime/list-tools", tool_runtime.RuntimeTools),
    ("tool-runtime/invoke", tool_runtime.Invocation),
    ("shields", safety.ShieldList),
    ("shields/<path:shield_id>", safety.ShieldDetail),
    ("safety/run-shield", safety.ShieldRun),
    ("inference/chat-completion", inference.ChatCompletion),
    ("inference/completion", inference.Completion),
    ("inference/embeddings", inference.Embeddings),
    ("telemetry/spans", spans.SpanQuery),
    ("traces", otlp.TracesView),
    ("logs", otlp.LogsView),
    ("metrics", otlp.MetricsView),
    ("traces/ingest", reports.AgentsSdkTraces),
    ("vector-dbs", vector_dbs.VectorDBList),
    ("vector-dbs/<path:vector_db_id>", vector_dbs.VectorDBDetail),
    ("vector-io/insert", vector_dbs.VectorInsertion),
    ("vector-io/query", vector_dbs.VectorSearch),
    ("tool-runtime/rag-tool/insert", vector_dbs.RagInsertion),
    ("tool-runtime/rag-tool/query", vector_dbs.RagSearch),
    ("providers", catalogue.ProviderList),
    ("providers/<path:provider_id>", catalogue.ProviderDetail),
    ("health", catalogue.Health),
    ("version", catalogue.Version),
    ("inspect/routes", catalogue.RouteList),
    ("logs/turns", logs.TurnLogView),
    ("logs/sessions", logs.SessionLogView),
    ("logs/steps", logs.StepLogView),
    ("logs/responses", logs.ResponseLogView),
    ("logs/turns/<str:turn_id>/compare/<str:other_id>", forks.TurnComparison),
    *numbers.ROUTES,
    *feedback.ROUTES,
    *exports.ROUTES,
    *imports.ROUTES,
    *saved_views.ROUTES,
    ("openapi.json", SchemaView),
]
LANGSMITH: list[tuple[str, type[ApiView]]] = [
    ("info", reports.LangSmithInfo),
    ("runs", reports.LangSmithRuns),
    ("runs/multipart", reports.LangSmithMultipart),
    ("runs/batch", reports.LangSmithBatch),
    ("runs/<str:run_id>", reports.LangSmithRun),
]
LANGFUSE: list[tuple[str, type[ApiView]]] = [("traces", otlp.TracesView)]
PREFIXES: list[tuple[str, list[tuple[str, type[ApiView]]]]] = [
    ("v1/", AGENTS + OPENAI + REST),
    ("v1alpha/", AGENTS),
    ("v1/openai/v1/", OPENAI),
    ("langsmith/", LANGSMITH),
    ("api/public/otel/v1/", LANGFUSE),
]


def routes(prefix: str = "/") -> Iterator[tuple[str, type[ApiView]]]:
    """Every (path, view) that begins with ``prefix``."""
    for base, table in PREFIXES:
        for route, view in table:
            if f"/{base}{route}".startswith(prefix):
                yield f"/{base}{route}", view


urlpatterns: list[URLPattern] = [path(route.lstrip("/"), view.as_view()) for route, view in routes()]
urlpatterns.append(re_path(r"^(v1(alpha)?|langsmith|api/public)(/|$)", not_found.UnknownPathView.as_view()))
