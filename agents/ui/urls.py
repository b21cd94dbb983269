"""The table of pages."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.ui import accounts, agents, conversations, docs, keys, logs, sessions, turns

urlpatterns: list[URLPattern] = [
    path("", logs.home, name="home"),
    path("logs/", logs.log_list, name="logs"),
    path("logs/sums/", logs.log_sums, name="log-sums"),
    path("responses/", logs.response_list, name="responses"),
    path("responses/<str:response_id>/", conversations.to_response, name="response"),
    path("responses/<str:response_id>/response.json", conversations.response_as_json, name="response-json"),
    path("responses/<str:response_id>/stream.txt", conversations.response_stream, name="response-stream"),
    path("conversations/", conversations.conversation_list, name="conversations"),
    path("conversations/rows/", conversations.conversation_parts, name="conversation-rows"),
    path("conversations/<str:conversation_id>/", conversations.to_conversation, name="conversation"),
    path(
        "conversations/<str:conversation_id>/items/<str:item_id>.json",
        conversations.item_as_json,
        name="conversation-item",
    ),
    path("turns/<str:turn_id>/", turns.turn_page, name="turn"),
    path("turns/<str:turn_id>/parts/", turns.turn_parts, name="turn-parts"),
    path("turns/<str:turn_id>/turn.json", turns.turn_as_json, name="turn-json"),
    path("turns/<str:turn_id>/events.jsonl", turns.turn_events, name="turn-events"),
    path("turns/<str:turn_id>/value/", turns.turn_value, name="turn-value"),
    path("turns/<str:turn_id>/steps/<str:step_id>/value/", turns.step_value, name="step-value"),
    path("turns/<str:turn_id>/answer/", turns.answer, name="turn-answer"),
    path("turns/<str:turn_id>/say/", turns.say, name="turn-say"),
    path("turns/<str:turn_id>/cancel/", turns.cancel, name="turn-cancel"),
    path("sessions/<str:session_id>/", sessions.session_page, name="session"),
    path("sessions/<str:session_id>/parts/", sessions.session_parts, name="session-parts"),
    path("sessions/<str:session_id>/say/", sessions.say, name="session-say"),
    path("agents/", agents.agent_list, name="agents"),
    path("agents/new/", agents.create_agent, name="agent-new"),
    path("agents/<str:agent_id>/", agents.agent_page, name="agent"),
    path("agents/<str:agent_id>/try/", agents.try_agent, name="agent-try"),
    path("keys/", keys.key_list, name="keys"),
    path("keys/<str:key_id>/revoke/", keys.revoke, name="key-revoke"),
    path("docs/", docs.docs_page, name="docs"),
    path("login/", accounts.login_page, name="login"),
    path("logout/", accounts.log_out, name="logout"),
    path("account/password/", accounts.password, name="account-password"),
    path("welcome/<str:token>", accounts.welcome, name="welcome"),
]
