"""The Agents API: agents, sessions, turns, steps (Llama Stack v0.2.12)."""

from __future__ import annotations

from functools import partial

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.access import Action
from agents.base.api import large_answers
from agents.base.api.lists import array, encode
from agents.base.api.negotiation import json_response
from agents.base.api.provider_data import provider_data
from agents.base.api.views import ApiView, Awaited, answer, as_json, no_content, page_bounds, query_list, stream
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import portions
from agents.llama_stack.schemas import (
    AgentCreated,
    AgentPage,
    CreateAgent,
    CreateSession,
    SessionCreated,
    SessionObject,
    SessionPage,
    StepEnvelope,
    TurnChunk,
    TurnObject,
)
from agents.llama_stack.turn_streams import (
    current_turn_answer,
    ended_turn_answer,
    frames,
    partial_turn_chunks,
    turn_answer,
)
from agents.llama_stack.wire import grouped_steps, session_chunks, step_json
from agents.loop import prepare
from agents.loop.current_service import service
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.sent_request import SentRequest
from agents.loop.service import Started
from agents.record.schemas.agents import AgentObject
from agents.record.schemas.events import parse_cursor
from agents.record.store import agents, read_turns, retries, sessions, turns
from agents.record.store.retries import Retry
from agents.record.store.turns import TurnTarget

_LIMIT = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10**12 - 1}, {"const": -1}]}
BOUNDS = [
    OpenApiParameter("start_index", {"type": "integer", "minimum": 0, "maximum": 10**12 - 1}),
    OpenApiParameter("limit", _LIMIT),
]


class AgentList(ApiView):
    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="create_agent", request=CreateAgent, responses=AgentCreated)
    def post(self, request: Request) -> HttpResponseBase:
        config = self.body(CreateAgent).agent_config
        prepare.check_config(service().providers, self.actor, config)
        return answer(AgentCreated(agent_id=agents.create(self.actor, config)))

    @extend_schema(operation_id="list_agents", parameters=BOUNDS, responses=AgentPage)
    def get(self, request: Request) -> HttpResponseBase:
        start, limit = page_bounds(request._request)
        sized, more = agents.page(self.actor, start=start, limit=limit)
        bodies = ((as_json(record.as_object()),) for record in agents.records(sized))
        tail = b'],"has_more":%b,"url":%b}' % (encode(more), encode(request.path))
        return large_answers.answer(portions.weight(sized), array(b'{"data":[', bodies, tail))


class AgentDetail(ApiView):
    actions = {"get": "read", "delete": "manage"}

    @extend_schema(operation_id="get_agent", responses=AgentObject)
    def get(self, request: Request, agent_id: str) -> HttpResponseBase:
        return answer(agents.get(self.actor, agents.key_of(agent_id)).as_object())

    @extend_schema(operation_id="delete_agent", responses={204: None})
    def delete(self, request: Request, agent_id: str) -> HttpResponseBase:
        agents.delete(self.actor, agents.key_of(agent_id))
        return no_content()


class SessionCreate(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="create_session", request=CreateSession, responses=SessionCreated)
    def post(self, request: Request, agent_id: str) -> HttpResponseBase:
        name = self.body(CreateSession).session_name
        agent = agents.get(self.actor, agents.key_of(agent_id), "run")
        agents.check_here(agent)
        persist = bool(agent.config.enable_session_persistence)
        return answer(
            SessionCreated(session_id=sessions.create(self.actor, agent=agent.key, name=name, persist=persist))
        )


class SessionList(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_sessions", parameters=BOUNDS, responses=SessionPage)
    def get(self, request: Request, agent_id: str) -> HttpResponseBase:
        agent = agents.get(self.actor, agents.key_of(agent_id))
        start, limit = page_bounds(request._request)
        records, more = sessions.listing(self.actor, agent=agent.key, start=start, limit=limit)
        data = [
            SessionObject(session_id=session.key, session_name=session.name, turns=[], started_at=session.created_at)
            for session in records
        ]
        return answer(SessionPage(data=data, has_more=more, url=request.path))


class SessionDetail(ApiView):
    actions = {"get": "read", "delete": "run"}

    @extend_schema(
        operation_id="get_session", parameters=[OpenApiParameter("turn_ids", str, many=True)], responses=SessionObject
    )
    def get(self, request: Request, agent_id: str, session_id: str) -> HttpResponseBase:
        record = sessions.get(self.actor, sessions.key_of(session_id), agent=agents.key_of(agent_id))
        turn_ids = query_list(request._request, "turn_ids")
        turn_keys = None if turn_ids is None else [ids.parse(ids.Kind.TURN, turn_id) or 0 for turn_id in turn_ids]
        sized = read_turns.sizes_of_session(self.actor, record.key, turn_keys)
        turns = (partial_turn_chunks(turn) for turn in read_turns.partial_turns(self.actor, record.key, sized))
        chunks = session_chunks(record.key, record.name, record.created_at, turns)
        return large_answers.answer(portions.weight(sized), chunks)

    @extend_schema(operation_id="delete_session", responses={204: None})
    def delete(self, request: Request, agent_id: str, session_id: str) -> HttpResponseBase:
        sessions.delete(self.actor, sessions.key_of(session_id), agent=agents.key_of(agent_id))
        return no_content()


class TurnView(ApiView):
    """Base of the views of turns: finds a turn, and answers with a running one."""

    def _target(self, agent_id: str, session_id: str, turn_id: str, action: Action = "read") -> TurnTarget:
        agent, session = agents.key_of(agent_id), sessions.key_of(session_id)
        turn = turns.key_of(turn_id)
        # the turns of an external session may have several agents: then the turn's own agent counts
        owner = agent if turns.agent_of(turn, session) != agent else None
        sessions.get(self.actor, session, agent=owner, action=action)
        return turns.target(self.actor, turn, session=session, action=action)

    def _retry(self) -> Retry:
        headers = self.request._request.headers
        key, count = headers.get("Idempotency-Key"), headers.get("X-Stainless-Retry-Count")
        return retries.read(self.actor, self.request.path, self.raw, key, count)

    def _sent(self) -> SentRequest:
        sent_data = provider_data(self.request._request)
        return SentRequest(self.raw, self._retry(), sent_data)

    def _answer(self, started: Started, streams: bool) -> HttpResponseBase:
        if streams:
            return stream(frames(started))
        request_id = getattr(self.request._request, "request_id", "")
        return Awaited(partial(turn_answer, self.actor, started, request_id))


class TurnCreate(TurnView):
    actions = {"post": "run"}

    @extend_schema(
        operation_id="create_turn",
        request=CreateTurn,
        responses={200: TurnObject, (200, "text/event-stream"): TurnChunk},
    )
    def post(self, request: Request, agent_id: str, session_id: str) -> HttpResponseBase:
        body = self.body(CreateTurn)
        agent = agents.get(self.actor, agents.key_of(agent_id), "run")
        session = sessions.get(self.actor, sessions.key_of(session_id), agent=agent.key, action="run")
        agent = agents.at_revision(agent, session.revision)
        started = service().start_turn(self.actor, agent, session.key, body, self._sent())
        return self._answer(started, bool(body.stream))


class TurnDetail(TurnView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_turn", responses=TurnObject)
    def get(self, request: Request, agent_id: str, session_id: str, turn_id: str) -> HttpResponseBase:
        target = self._target(agent_id, session_id, turn_id)
        return current_turn_answer(self.actor, target.key)


class TurnResume(TurnView):
    actions = {"post": "run"}

    @extend_schema(
        operation_id="resume_turn",
        request=ResumeTurn,
        responses={200: TurnObject, (200, "text/event-stream"): TurnChunk},
    )
    def post(self, request: Request, agent_id: str, session_id: str, turn_id: str) -> HttpResponseBase:
        body = self.body(ResumeTurn)
        target = self._target(agent_id, session_id, turn_id, "run")
        config = service().config_of(self.actor, target)
        started = service().resume_turn(self.actor, target, config, body, self._sent())
        return self._answer(started, bool(body.stream))


class TurnCancel(TurnView):
    actions = {"post": "run"}

    @extend_schema(operation_id="cancel_turn", request=None, responses=TurnObject)
    def post(self, request: Request, agent_id: str, session_id: str, turn_id: str) -> HttpResponseBase:
        target = self._target(agent_id, session_id, turn_id, "run")
        stopped = service().cancel_turn(self.actor, target.key)
        return Awaited(partial(ended_turn_answer, self.actor, stopped))


class TurnEvents(TurnView):
    """An addition of this server: the stream of a turn that another request started, from any position."""

    actions = {"get": "read"}

    @extend_schema(
        operation_id="follow_turn",
        parameters=[OpenApiParameter("after", str)],
        responses={(200, "text/event-stream"): TurnChunk},
    )
    def get(self, request: Request, agent_id: str, session_id: str, turn_id: str) -> HttpResponseBase:
        target = self._target(agent_id, session_id, turn_id)
        raw = request.headers.get("Last-Event-ID") or request._request.GET.get("after", "")
        try:
            after = parse_cursor(raw)
        except ValueError as error:
            raise InvalidRequest(f"after: {error}.", param="after") from error
        # to the end of the running response, or to the last event of a turn that does not run
        until = turns.response_start(target.key, target.response_count) if target.is_live else target.next_seq - 1
        return stream(frames(Started(target.key, target.session, until), after=after, with_ids=True))


class TurnStepDetail(TurnView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_step", responses=StepEnvelope)
    def get(self, request: Request, agent_id: str, session_id: str, turn_id: str, step_id: str) -> HttpResponseBase:
        target = self._target(agent_id, session_id, turn_id)
        partial_turn = read_turns.partial_turn(self.actor, target.key)
        key = ids.parse(ids.Kind.STEP, step_id)
        for group in grouped_steps(partial_turn.turn.steps):
            if group[0].key == key:
                return json_response(
                    b'{"step":%b}' % step_json(target.key, list(map(partial_turn.details.load, group)))
                )
        raise NotFound(f"Step '{step_id[:80]}' not found.")
