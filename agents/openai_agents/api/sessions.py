"""Sessions and their events."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import msgspec
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.lists import encode, list_json
from agents.base.api.negotiation import json_response
from agents.base.api.parameters import AFTER, LIMIT, ORDER
from agents.base.api.provider_data import provider_data
from agents.base.api.views import Awaited, stream
from agents.base.errors import Conflict, InvalidRequest, NotFound, RateLimited
from agents.base.reading import read
from agents.loop.sent_request import SentRequest
from agents.openai_agents.api.base import OpenAIView, bounds, empty_list, parsed
from agents.openai_agents.runner import inputs, required_servers, streams
from agents.openai_agents.runner import sessions as runner
from agents.openai_agents.runner.streams import Position
from agents.openai_agents.schemas.objects import AgentRemoved, AgentSessionObject, AgentSessionPage, SessionEvent
from agents.openai_agents.schemas.sessions import CreateAgentSession, CreateEvents, UpdateAgentSession
from agents.openai_agents.store import sessions
from agents.openai_agents.wire.sessions import session_id
from agents.record.store import retries
from agents.record.store.retries import Retry

PAGE = [AFTER, LIMIT, ORDER]


class RetriedView(OpenAIView):
    """A view whose requests may be repeated by their client."""

    def retry(self) -> Retry:
        """Return how this request is found again. Raises InvalidRequest for an invalid key."""
        headers = self.request._request.headers
        key, count = headers.get("Idempotency-Key"), headers.get("X-Stainless-Retry-Count")
        return retries.read(self.actor, self.request.path, self.raw, key, count)

    def sent(self) -> SentRequest:
        return SentRequest(self.raw, self.retry(), provider_data(self.request._request))


def without_secrets(raw: bytes) -> bytes:
    """Return a request as received, without what is for the servers of its tools alone: requests are kept."""
    if b'"authorization"' not in raw and b'"headers"' not in raw:
        return raw
    request = msgspec.json.decode(raw)
    for tool in (request.get("agent") or {}).get("tools") or ():
        for name in ("authorization", "headers"):
            tool.get("transport", {}).pop(name, None)
    return encode(request)


class AgentSessions(RetriedView):
    actions = {"get": "read", "post": "run"}

    @extend_schema(
        operation_id="create_agent_session",
        request=CreateAgentSession,
        responses={200: AgentSessionObject, (200, "text/event-stream"): SessionEvent},
    )
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateAgentSession = parsed(self, CreateAgentSession)
        sent = self.sent()
        sent = replace(sent, raw=without_secrets(sent.raw))
        try:
            earlier = sent.first_run()
        except InvalidRequest as error:
            raise Conflict(error.message, code="conflict_error", param=error.param) from None
        if earlier:
            return self._answer(body, self._earlier_session(earlier[0]))
        required = required_servers.of_session(self.actor, body)
        if not required:
            return self._answer(body, self._create(body, sent))

        async def work() -> HttpResponseBase:
            await required_servers.check(required)
            return await read(lambda: self._answer(body, self._create(body, sent)))

        return Awaited(work)

    def _answer(self, body: CreateAgentSession, key: int) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id(key), "run")
        if body.stream:
            return stream(streams.frames(self.actor, row, Position(-1), status="in_progress"))
        return json_response(encode(runner.object_of(self.actor, row)))

    def _create(self, body: CreateAgentSession, sent: SentRequest) -> int:
        key = runner.create(self.actor, body)
        row = sessions.get(self.actor, session_id(key), "run")
        try:
            runner.set_limit(self.actor, row, body)
            inputs.start(self.actor, row, runner.messages_of(body.input), sent)
        except (InvalidRequest, NotFound, RateLimited):
            sessions.delete(self.actor, row)  # a session that could not begin was not created
            raise
        return key

    def _earlier_session(self, turn: int) -> int:
        """Return the session that an earlier request with the same key has created."""
        return sessions.session_of_turn(self.actor, turn)

    @extend_schema(
        operation_id="list_agent_sessions",
        parameters=[*PAGE, OpenApiParameter("agent_id", str)],
        responses=AgentSessionPage,
    )
    def get(self, request: Request) -> HttpResponseBase:
        query = request._request.GET
        agent = ids.parse_spelled(ids.Kind.AGENT, query["agent_id"]) if query.get("agent_id") else None
        metadata = {
            name[len("metadata[") : -1]: str(value)
            for name, value in query.items()
            if name.startswith("metadata[") and name.endswith("]")
        }
        page = bounds(request, ids.Kind.SESSION)
        if query.get("agent_id") and agent is None:
            return empty_list()
        rows, more = sessions.page(self.actor, page, agent, metadata)
        bodies = ((encode(made),) for made in runner.objects_of(self.actor, rows))
        return list_json(bodies, [session_id(row.key) for row in rows], has_more=more)


class AgentSession(OpenAIView):
    actions = {"get": "read", "post": "run", "delete": "run"}

    @extend_schema(operation_id="get_agent_session", responses=AgentSessionObject)
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        return json_response(encode(runner.object_of(self.actor, sessions.get(self.actor, session_id))))

    @extend_schema(operation_id="update_agent_session", request=UpdateAgentSession, responses=AgentSessionObject)
    def post(self, request: Request, session_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id, "run")
        runner.update(self.actor, row, parsed(self, UpdateAgentSession))
        row = sessions.get(self.actor, session_id, "run")
        return json_response(encode(runner.object_of(self.actor, row)))

    @extend_schema(operation_id="delete_agent_session", responses=AgentRemoved)
    def delete(self, request: Request, session_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id, "run")
        sessions.delete(self.actor, row)
        return json_response(encode({"id": session_id, "object": "agent.session.deleted", "deleted": True}))


class AgentSessionEvents(RetriedView):
    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="create_agent_session_events", request=CreateEvents, responses={202: None})
    def post(self, request: Request, session_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id, "run")
        body: CreateEvents = parsed(self, CreateEvents)
        return Awaited(partial(self._take, row, body, self.sent()))

    async def _take(self, row: sessions.StoredSession, body: CreateEvents, sent: SentRequest) -> HttpResponseBase:
        await inputs.take(self.actor, row, body.events, sent)
        return HttpResponse(status=202)

    @extend_schema(
        operation_id="stream_agent_session_events",
        parameters=[OpenApiParameter("include_obfuscation", bool)],
        responses={(200, "text/event-stream"): SessionEvent},
    )
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id)
        return stream(streams.frames(self.actor, row, streams.now(row.key)))
