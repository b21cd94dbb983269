"""The endpoints of scores, which evaluations send with the clients of Langfuse and LangSmith. They are stored with the
trace they are about, and become feedback of its turn as soon as there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.negotiation import json_response
from agents.base.errors import InvalidRequest
from agents.telemetry.api.otlp import ReportView
from agents.telemetry.reading import scores
from agents.telemetry.reading.decoding import Decoded
from agents.telemetry.reading.scores import SentScore
from agents.telemetry.schemas.scores import LangfuseBatch, LangfuseEvent
from agents.telemetry.store.external import stored_scores

ACCEPTED, MIXED, CREATED = 202, 207, 201
SCORE_CREATE = "score-create"
_USE_OTLP = (
    "this server takes traces by OpenTelemetry alone: send them to /api/public/otel/v1/traces, as Langfuse's SDKs do "
    "from version 3 on."
)


def _json(value: Any, status: int = 200) -> HttpResponseBase:
    return json_response(msgspec.json.encode(value), status)


class ScoreView(ReportView):
    """The base of the views of scores."""

    def keep(self, sent: Sequence[SentScore]) -> None:
        """Store scores: those of turns of this server as their feedback, others with their traces."""
        others = [score for score in sent if not stored_scores.put_on_own_turn(self.actor, score)]
        self.store(Decoded([score.span() for score in others]))
        stored_scores.remember(self.actor, others)


class LangfuseScores(ScoreView):
    """Receives a score of Langfuse, or a list of them, of which those in order are stored."""

    actions = {"post": "ingest"}

    def post(self, request: Request) -> HttpResponseBase:
        body, now_us = self.json(), ids.now_us()
        if not isinstance(body, list):
            score = scores.from_langfuse(body, self.actor.name, now_us)
            self.keep([score])
            return _json({"id": score.entry.id})
        sent: list[SentScore] = []
        errors: list[dict[str, str]] = []
        for index, item in enumerate(body):
            try:
                sent.append(scores.from_langfuse(item, self.actor.name, now_us))
            except InvalidRequest as error:
                errors.append({"message": f"[{index}].{error.message}"})
        self.keep(sent)
        if errors:
            return _json({"accepted": len(sent), "rejected": len(errors), "errors": errors}, MIXED)
        return _json({"message": "Accepted"}, ACCEPTED)


class LangfuseIngestion(ScoreView):
    """Receives the batches of Langfuse's earlier clients, of which only scores are taken."""

    actions = {"post": "ingest"}

    def post(self, request: Request) -> HttpResponseBase:
        batch, now_us = scores.read(LangfuseBatch, self.json()).batch, ids.now_us()
        sent: list[SentScore] = []
        successes: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        for index, item in enumerate(batch):
            event_id = str(item.get("id", index))[:128] if isinstance(item, dict) else str(index)
            try:
                event = scores.read(LangfuseEvent, item)
                if event.type != SCORE_CREATE:
                    raise InvalidRequest(f"type: {event.type} is not taken; {_USE_OTLP}", param="type")
                sent.append(scores.from_langfuse(event.body, self.actor.name, now_us))
                successes.append({"id": event.id, "status": CREATED})
            except InvalidRequest as error:
                errors.append({"id": event_id, "status": error.status, "message": error.message, "error": error.code})
        self.keep(sent)
        return _json({"successes": successes, "errors": errors}, MIXED)


class LangSmithFeedbackView(ScoreView):
    """Receives feedback of LangSmith."""

    actions = {"post": "ingest"}

    def post(self, request: Request) -> HttpResponseBase:
        sent = scores.from_langsmith(self.json(), self.actor.name, ids.now_us())
        self.keep([sent])
        return _as_langsmith(sent)


class LangSmithFeedbackDetail(ScoreView):
    """Changes feedback of LangSmith: the fields that are sent, of which null clears one."""

    actions = {"patch": "ingest"}

    def patch(self, request: Request, score_id: str) -> HttpResponseBase:
        changes = self.json()
        sent = scores.changed(stored_scores.find(self.actor, score_id), changes, self.actor.name, ids.now_us())
        self.keep([sent])
        return _as_langsmith(sent)


def _as_langsmith(sent: SentScore) -> HttpResponseBase:
    return _json({"id": sent.entry.id, "run_id": sent.observation, "trace_id": sent.trace})
