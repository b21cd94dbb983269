"""A process without one subject: ``python -m tests.server.without_subject feedback`` fails where something is amiss.

It stands on an empty database of its own, answers requests in process, and runs a turn of the scripted model.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from agents.base.subjects import NEEDS, REMOVABLE

PATHS = {
    "identity": ("/keys/", "/login/"),
    "prices": ("/prices/",),
    "feedback": ("/v1/feedback",),
    "forks": ("/turns/compare/",),
    "tools": ("/v1/tools", "/v1/toolgroups"),
    "safety": ("/v1/shields", "/v1/moderations"),
    "knowledge": ("/v1/files", "/v1/vector_stores", "/v1/vector-dbs"),
    "relay": ("/v1/chat/completions", "/v1/messages", "/v1/embeddings"),
    "telemetry": ("/v1/traces", "/connect/", "/import/", "/langsmith/info"),
    "log_tools": ("/mcp",),
    "webhooks": ("/v1/webhook_endpoints", "/v1/webhook_event_types", "/webhooks/"),
    "subagents": (),
    "automations": ("/automations/",),
    "batches": ("/v1/batches",),
    "budgets": ("/v1/budgets", "/budgets/"),
}
"""Where each subject is reached."""
ROUTES = {"subagents": "/v1/logs/turns/{turn_id}/called"}
"""Routes of subjects that are reached only below the ids of records."""
COMMANDS = {"identity": "admin_link", "prices": "prices", "log_tools": "mcp"}
ADMIN = {
    "identity": "/admin/agents/user/",
    "prices": "/admin/agents/price/",
    "tools": "/admin/agents/toolgroup/",
    "safety": "/admin/agents/shield/",
    "knowledge": "/admin/agents/vectordb/",
    "relay": "/admin/agents/chatcompletion/",
    "webhooks": "/admin/agents/webhookendpoint/",
    "automations": "/admin/agents/automation/",
}
REFUSED: dict[str, dict[str, Any]] = {
    "tools": {"tools": [{"type": "web_search"}]},
    "safety": {"guardrails": ["demo_guard"]},
    "knowledge": {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]},
}
"""What a response asks in vain of a server without the subject."""
AGENT = {"model": "scripted/fast", "instructions": "Be brief.", "enable_session_persistence": False}

MIGRATED = "telemetry"
"""The migrations are run without this one; without the others the tables are copied, as all models stay."""


def main(missing: str) -> None:
    os.environ["INSTALLED_SUBJECTS"] = ",".join(present_without(missing))
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from django.core.management import call_command, get_commands
    from django.test.utils import setup_databases, setup_test_environment

    setup_test_environment()
    call_command("check")
    assert (COMMANDS.get(missing) in get_commands()) is False
    from tests.support import tables
    from tests.support.inprocess import inline_service

    if missing == MIGRATED:
        setup_databases(verbosity=0, interactive=False)
    else:
        tables.copy()

    with inline_service():
        walk(missing)
    started(missing)
    stray = [name for name in sys.modules if name.startswith(f"agents.{missing}.") and not is_model(missing, name)]
    assert not stray, stray


def is_model(subject: str, name: str) -> bool:
    return f"{name}.".startswith(f"agents.{subject}.models.")


def present_without(missing: str) -> list[str]:
    """Those that a server has that does without ``missing``, and so without what needs it."""
    return [subject for subject in REMOVABLE if missing not in {subject, NEEDS.get(subject)}]


def walk(missing: str) -> None:
    """What is left answers, and what is missing is not there."""
    from django.test import Client

    client = Client()
    turn = turn_of(client)
    assert turn["output_message"]["content"]
    pages = (
        "/",
        "/logs/",
        "/agents/",
        "/docs/api/",
        f"/turns/{turn['turn_id']}/",
        f"/turns/{turn['turn_id']}/?view=raw",
    )
    for path in pages:
        shown = client.get(path)
        assert shown.status_code == 200, path
        assert not [each for each in PATHS[missing] if f'href="{each}' in shown.content.decode()], path
    described = answer_of(client, "/v1/openapi.json")["paths"]
    for path in PATHS[missing]:
        assert client.get(path).status_code == 404, path
        assert client.post(path, {}, content_type="application/json").status_code == 404, path
        assert path not in described
    assert "/v1/agents" in described
    for subject, route in ROUTES.items():
        assert (route in described) == (subject != missing), route
    for subject in present_without(missing):
        for path in PATHS[subject]:
            assert client.get(path).status_code != 404, path
    if missing in REFUSED:
        body = {"model": "scripted/fast", "input": "Hello", **REFUSED[missing]}
        refused = client.post("/v1/responses", body, content_type="application/json")
        assert refused.status_code == 400
        assert f"the subject {missing} is not installed" in refused.json()["error"]["message"]
    rated = client.get("/v1/logs/turns", {"q": "rating:up"})
    assert rated.status_code == (400 if missing == "feedback" else 200)
    walk_admin(missing)
    left_behind = leave_rows(missing, turn["session_id"])
    removed = client.delete(f"/v1/agents/{turn['agent_id']}/session/{turn['session_id']}")
    assert removed.status_code == 204, removed.content
    assert not any(rows.exists() for rows in left_behind)


def leave_rows(missing: str, session: str) -> list[Any]:
    """Rows about a session as the subject wrote them while it was installed."""
    from agents.base import ids
    from agents.feedback.models import Feedback
    from agents.knowledge.models.vector_dbs import VectorDB
    from agents.record.models.agents import Session

    key, now = ids.parse(ids.Kind.SESSION, session), ids.now_us()
    assert key is not None
    if missing == "feedback":
        Feedback.objects.create(id=ids.new_key(), session_id=key, rating=1, created_at=now, updated_at=now)
        return [Feedback.objects.all()]
    if missing == "knowledge":
        rows, scope = VectorDB._base_manager, Session._base_manager.get(pk=key).scope_id
        rows.create(
            id=ids.new_key(), session_id=key, scope_id=scope, identifier="own", embedding_dimension=0, created_at=now
        )
        return [rows.all()]
    return []


def walk_admin(missing: str) -> None:
    from django.contrib.auth import get_user_model
    from django.test import Client

    admin = Client()
    admin.force_login(get_user_model().objects.create_superuser("root", password="walks in"))
    assert admin.get("/admin/").status_code == 200
    for subject, path in ADMIN.items():
        assert admin.get(path).status_code == (404 if subject == missing else 200), path


def turn_of(client: Any) -> dict[str, Any]:
    """A turn of a new agent."""
    agent = answer_of(client, "/v1/agents", {"agent_config": AGENT})["agent_id"]
    session = answer_of(client, f"/v1/agents/{agent}/session", {"session_name": "s"})["session_id"]
    body = {"messages": [{"role": "user", "content": "Hello"}], "stream": False}
    turn = answer_of(client, f"/v1/agents/{agent}/session/{session}/turn", body)
    return {**turn, "agent_id": agent}


def answer_of(client: Any, path: str, body: dict[str, Any] | None = None) -> Any:
    from tests.support.inprocess import body_of

    sent = client.get(path) if body is None else client.post(path, body, content_type="application/json")
    raw = body_of(sent)
    assert sent.status_code == 200, raw
    return json.loads(raw)


def started(missing: str) -> None:
    """The serving process starts and stops."""
    import asyncio

    from agentsite.lifecycle import Lifecycle

    async def run() -> None:
        lifecycle = Lifecycle()
        await lifecycle.start()
        await lifecycle.drain()
        await lifecycle.stop()

    asyncio.run(run())


if __name__ == "__main__":
    main(sys.argv[1])
