"""The URL table of the pages. Removable subjects come first: some have a fixed segment where others have an id."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.lazy_import import LazyModule
from agents.server import subjects

bulk = LazyModule("agents.logs.pages.bulk")
exports = LazyModule("agents.logs.pages.exports")
facet_values = LazyModule("agents.logs.pages.facet_values")
logs = LazyModule("agents.logs.pages.logs")
numbers = LazyModule("agents.logs.pages.numbers")
saved_views = LazyModule("agents.logs.pages.saved_views")
suggest = LazyModule("agents.logs.pages.suggest")
agent_editor = LazyModule("agents.pages.agent_editor")
agent_health = LazyModule("agents.pages.agent_health")
agent_state = LazyModule("agents.pages.agent_state")
agents = LazyModule("agents.pages.agents")
conversations = LazyModule("agents.pages.conversations")
dashboard = LazyModule("agents.pages.dashboard")
downloads = LazyModule("agents.pages.downloads")
groups = LazyModule("agents.pages.groups")
inbox = LazyModule("agents.pages.inbox")
pinned_groups = LazyModule("agents.pages.pinned_groups")
revisions = LazyModule("agents.pages.revisions")
sessions = LazyModule("agents.pages.sessions")
side_panel = LazyModule("agents.pages.side_panel")
turn_markdown = LazyModule("agents.pages.turn_markdown")
turns = LazyModule("agents.pages.turns")
value_page = LazyModule("agents.pages.value_page")
docs = LazyModule("agents.server.pages.docs")
health = LazyModule("agents.server.pages.health")
languages = LazyModule("agents.uikit.languages")

urlpatterns: list[URLPattern] = [
    *(pattern for urls in subjects.urls() for pattern in urls.PAGES),
    path("", dashboard.dashboard, name="home"),
    path("dashboard/", dashboard.dashboard_parts, name="dashboard-parts"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/parts/", inbox.inbox_parts, name="inbox-parts"),
    path("logs/", logs.turn_list, name="logs"),
    path("logs/numbers/", numbers.log_numbers, name="log-numbers"),
    path("logs/groups/", groups.grouped, name="log-groups"),
    path("logs/groups/pin/", pinned_groups.pin, name="groups-pin"),
    path("logs/values/", facet_values.facet_values, name="log-values"),
    path("logs/complete/", suggest.complete, name="log-complete"),
    path("steps/", logs.step_list, name="steps"),
    path("steps/<str:step_id>/", logs.to_step, name="step"),
    path("logs/act/", bulk.act, name="log-act"),
    path("logs/views/", saved_views.save, name="view-save"),
    path("logs/views/<str:view_id>/", saved_views.change, name="view-change"),
    path("logs/export/", exports.log_export, name="log-export"),
    path("responses/", logs.response_list, name="responses"),
    path("responses/<str:response_id>/", conversations.to_response, name="response"),
    path("responses/<str:response_id>/response.json", conversations.response_as_json, name="response-json"),
    path("responses/<str:response_id>/stream.txt", conversations.response_stream, name="response-stream"),
    path("conversations/", conversations.conversation_list, name="conversations"),
    path("conversations/<str:conversation_id>/", conversations.to_conversation, name="conversation"),
    path(
        "conversations/<str:conversation_id>/items/<str:item_id>.json",
        conversations.item_as_json,
        name="conversation-item",
    ),
    path("turns/<str:turn_id>/", turns.turn_page, name="turn"),
    path("turns/<str:turn_id>/peek/", side_panel.turn_side_panel, name="turn-peek"),
    path("turns/<str:turn_id>/parts/", turns.turn_parts, name="turn-parts"),
    path("turns/<str:turn_id>/turn.json", downloads.turn_as_json, name="turn-json"),
    path("turns/<str:turn_id>/turn.md", turn_markdown.turn_as_markdown, name="turn-markdown"),
    path("turns/<str:turn_id>/events.jsonl", downloads.turn_events, name="turn-events"),
    path("turns/<str:turn_id>/value/", downloads.turn_value, name="turn-value"),
    path("turns/<str:turn_id>/steps/<str:step_id>/value/", downloads.step_value, name="step-value"),
    path("turns/<str:turn_id>/read/", value_page.turn_read, name="turn-read"),
    path("turns/<str:turn_id>/steps/<str:step_id>/read/", value_page.step_read, name="step-read"),
    path("turns/<str:turn_id>/answer/", turns.answer, name="turn-answer"),
    path("turns/<str:turn_id>/decide/", turns.decide, name="turn-decide"),
    path("turns/<str:turn_id>/say/", turns.say, name="turn-say"),
    path("turns/<str:turn_id>/cancel/", turns.cancel, name="turn-cancel"),
    path("sessions/", logs.session_list, name="sessions"),
    path("sessions/<str:session_id>/", sessions.session_page, name="session"),
    path("sessions/<str:session_id>/parts/", sessions.session_parts, name="session-parts"),
    path("sessions/<str:session_id>/peek/", sessions.session_side_panel, name="session-peek"),
    path("sessions/<str:session_id>/say/", sessions.say, name="session-say"),
    path("agents/", agents.agent_list, name="agents"),
    path("agents/new/", agent_editor.create_agent, name="agent-new"),
    path("agents/numbers/", agents.agent_list_numbers, name="agents-numbers"),
    path("agents/<str:agent_id>/", agents.agent_page, name="agent"),
    path("agents/<str:agent_id>/edit/", agent_editor.edit_agent, name="agent-edit"),
    path("agents/<str:agent_id>/numbers/", agent_health.agent_numbers, name="agent-numbers"),
    path("agents/<str:agent_id>/revisions/", revisions.agent_revisions, name="agent-revisions"),
    path("agents/<str:agent_id>/state/", agent_state.agent_state, name="agent-state"),
    path("agents/<str:agent_id>/try/", agents.try_agent, name="agent-try"),
    path("health/", health.health_page, name="health"),
    path("docs/", docs.not_built, name="docs"),
    path("docs/api/", docs.api_page, name="docs-api"),
    path("language/", languages.choose, name="language"),
]
