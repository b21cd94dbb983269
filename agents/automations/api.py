"""``/v1/agents/automations``: OpenAI's."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.automations.runner import changes
from agents.automations.schemas.automations import (
    AutomationDeleted,
    AutomationList,
    AutomationObject,
    CreateAutomation,
    InvocationList,
    InvocationObject,
    UpdateAutomation,
)
from agents.automations.schemas.records import AutomationRecord
from agents.automations.store import automations, runs
from agents.automations.wire.objects import automation_json, invocation_json
from agents.base import ids
from agents.base.api.cursors import cursor
from agents.base.api.lists import encode, list_json
from agents.base.api.negotiation import json_response
from agents.base.api.parameters import AFTER, LIMIT, ORDER
from agents.openai_agents.api.base import OpenAIView, empty_list, parsed

PAGE = [AFTER, LIMIT, ORDER]


def _answer(record: AutomationRecord) -> HttpResponseBase:
    return json_response(encode(automation_json(record)))


class Automations(OpenAIView):
    """The caller's automations, and a new one."""

    actions = {"get": "read", "post": "manage"}

    @extend_schema(
        operation_id="list_automations",
        parameters=[*PAGE, OpenApiParameter("session_id", str)],
        responses=AutomationList,
    )
    def get(self, request: Request) -> HttpResponseBase:
        session_id = request._request.GET.get("session_id", "")
        session = ids.parse_spelled(ids.Kind.SESSION, session_id) if session_id else None
        page = cursor(request._request)
        if session_id and session is None:
            return empty_list()
        records, has_more = automations.page(self.actor, page, session)
        bodies = ((encode(automation_json(record)),) for record in records)
        return list_json(bodies, [record.public_id for record in records], has_more=has_more)

    @extend_schema(operation_id="create_automation", request=CreateAutomation, responses=AutomationObject)
    def post(self, request: Request) -> HttpResponseBase:
        return _answer(changes.create(self.actor, parsed(self, CreateAutomation)))


class AutomationDetail(OpenAIView):
    actions = {"get": "read", "post": "manage", "delete": "manage"}

    @extend_schema(operation_id="get_automation", responses=AutomationObject)
    def get(self, request: Request, automation_id: str) -> HttpResponseBase:
        return _answer(automations.get(self.actor, automation_id))

    @extend_schema(operation_id="update_automation", request=UpdateAutomation, responses=AutomationObject)
    def post(self, request: Request, automation_id: str) -> HttpResponseBase:
        automations.get(self.actor, automation_id, "manage")
        return _answer(changes.update(self.actor, automation_id, parsed(self, UpdateAutomation)))

    @extend_schema(operation_id="delete_automation", responses=AutomationDeleted)
    def delete(self, request: Request, automation_id: str) -> HttpResponseBase:
        """Delete an automation with its runs; the sessions that it has begun stay."""
        automations.delete(self.actor, automation_id)
        body = {"id": automation_id, "object": "agent.automation.deleted", "deleted": True}
        return json_response(encode(body))


class AutomationPause(OpenAIView):
    actions = {"post": "manage"}

    @extend_schema(operation_id="pause_automation", request=None, responses=AutomationObject)
    def post(self, request: Request, automation_id: str) -> HttpResponseBase:
        return _answer(changes.pause(self.actor, automation_id))


class AutomationResume(OpenAIView):
    actions = {"post": "manage"}

    @extend_schema(operation_id="resume_automation", request=None, responses=AutomationObject)
    def post(self, request: Request, automation_id: str) -> HttpResponseBase:
        return _answer(changes.resume(self.actor, automation_id))


class AutomationInvocations(OpenAIView):
    """What has become of an automation's times; and a run now."""

    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="list_invocations", parameters=PAGE, responses=InvocationList)
    def get(self, request: Request, automation_id: str) -> HttpResponseBase:
        record = automations.get(self.actor, automation_id)
        records, has_more = runs.page(record, cursor(request._request))
        bodies = ((encode(invocation_json(run)),) for run in records)
        return list_json(bodies, [run.public_id for run in records], has_more=has_more)

    @extend_schema(operation_id="create_invocation", request=None, responses=InvocationObject)
    def post(self, request: Request, automation_id: str) -> HttpResponseBase:
        record = automations.get(self.actor, automation_id, "run")
        return json_response(encode(invocation_json(runs.add_manual(record))))


class AutomationInvocation(OpenAIView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_invocation", responses=InvocationObject)
    def get(self, request: Request, automation_id: str, invocation_id: str) -> HttpResponseBase:
        record = automations.get(self.actor, automation_id)
        return json_response(encode(invocation_json(runs.get(record, invocation_id))))
