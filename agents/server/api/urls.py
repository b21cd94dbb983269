"""The URL table of ``/v1`` and its aliases: ``/v1alpha`` for the agents of 0.3.x clients, and
``/v1/openai/v1`` for OpenAI clients with the older base URL. Clients of LangSmith and Langfuse report under
paths of their own, and MCP has one. The routes of removable subjects are in their ``urls``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import URLPattern, path, re_path

from agents.base.api import not_found
from agents.base.api.routes import SESSION, TURN, Route, Routes
from agents.base.api.views import ApiView
from agents.base.subjects import is_installed
from agents.llama_stack import api as agents
from agents.logs.api import exports, logs, numbers, saved_views
from agents.loop import api as models
from agents.openai_agents.urls import NO_AUTOMATIONS, SESSIONS
from agents.responses.api import contexts, conversations, prompts, responses
from agents.server import subjects
from agents.server.api import agents as shared
from agents.server.api import catalogue
from agents.server.api.openapi import SchemaView

_subject_routes: list[Routes] = [urls.API for urls in subjects.urls()]

FIRST: list[Route] = [route for subject in _subject_routes for route in subject.first]
if not is_installed("automations"):
    FIRST += NO_AUTOMATIONS
AGENTS: list[Route] = [
    ("agents", agents.AgentList),
    ("agents/<str:agent_id>", agents.AgentDetail),
    ("agents/<str:agent_id>/session", agents.SessionCreate),
    ("agents/<str:agent_id>/sessions", agents.SessionList),
    (SESSION, agents.SessionDetail),
    (f"{SESSION}/turn", agents.TurnCreate),
    (TURN, agents.TurnDetail),
    (f"{TURN}/resume", agents.TurnResume),
    (f"{TURN}/cancel", agents.TurnCancel),
    (f"{TURN}/events", agents.TurnEvents),
    (f"{TURN}/step/<str:step_id>", agents.TurnStepDetail),
    *(route for subject in _subject_routes for route in subject.agents),
]
SHARED: list[Route] = [
    ("agents", shared.SharedAgentList),
    ("agents/<str:agent_id>", shared.SharedAgentDetail),
]
"""Routes of `AGENTS`, the first of them, that OpenAI's Agents API has as well."""
OPENAI: list[Route] = [
    ("models", models.ModelList),
    ("models/<path:model_id>", models.ModelDetail),
    ("responses", responses.ResponseCreate),
    ("responses/compact", contexts.ContextCompact),
    ("responses/input_tokens", contexts.InputTokenCount),
    ("responses/<str:response_id>", responses.ResponseDetail),
    ("responses/<str:response_id>/cancel", responses.ResponseCancel),
    ("responses/<str:response_id>/input_items", responses.ResponseItems),
    ("conversations", conversations.ConversationCreate),
    ("conversations/<str:conversation_id>", conversations.ConversationDetail),
    ("conversations/<str:conversation_id>/items", conversations.ConversationItems),
    ("conversations/<str:conversation_id>/items/<str:item_id>", conversations.ConversationItem),
    *(route for subject in _subject_routes for route in subject.openai),
]
REST: list[Route] = [
    *(route for subject in _subject_routes for route in subject.rest),
    ("providers", catalogue.ProviderList),
    ("providers/<path:provider_id>", catalogue.ProviderDetail),
    ("health", catalogue.Health),
    ("health/details", catalogue.HealthDetails),
    ("version", catalogue.Version),
    ("inspect/routes", catalogue.RouteList),
    ("prompts", prompts.PromptCollection),
    ("prompts/<str:prompt_id>", prompts.PromptDetail),
    ("prompts/<str:prompt_id>/versions", prompts.PromptVersions),
    ("prompts/<str:prompt_id>/set-default-version", prompts.PromptDefaultVersion),
    ("logs/turns", logs.TurnLogView),
    ("logs/turns/<str:turn_id>/steps/<str:step_id>/decision", models.StepDecision),
    ("logs/sessions", logs.SessionLogView),
    ("logs/steps", logs.StepLogView),
    ("logs/responses", logs.ResponseLogView),
    *numbers.ROUTES,
    *exports.ROUTES,
    *saved_views.ROUTES,
    ("openapi.json", SchemaView),
]
PREFIXES: list[tuple[str, Sequence[Route]]] = [
    ("v1/", FIRST + SESSIONS + SHARED + AGENTS[len(SHARED) :] + OPENAI + REST),
    ("v1alpha/", AGENTS),
    ("v1/openai/v1/", OPENAI),
    *(prefix for subject in _subject_routes for prefix in subject.elsewhere),
]


def routes(prefix: str = "/") -> Iterator[tuple[str, type[ApiView]]]:
    """Yield (path, view) of every route whose path begins with ``prefix``."""
    for base, table in PREFIXES:
        for route, view in table:
            if f"/{base}{route}".startswith(prefix):
                yield f"/{base}{route}", view


FREQUENT = (f"/v1/{SESSION}/turn", f"/v1/{TURN}/resume", "/v1/responses")
"""Routes that are tried first: Django tries one after the other, and these come once for each answer of a model. Their
paths match no route that stands before them in the tables."""
urlpatterns: list[URLPattern] = [
    path(route.lstrip("/"), view.as_view())
    for route, view in sorted(routes(), key=lambda entry: entry[0] not in FREQUENT)
]
urlpatterns.append(re_path(r"^(v1(alpha)?|langsmith|api/public|mcp)(/|$)", not_found.UnknownPathView.as_view()))
