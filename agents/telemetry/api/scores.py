"""The endpoints of scores, which evaluations send with the clients of Langfuse and LangSmith. They are stored with the
trace they are about, and become feedback of its turn as soon as there is one."""

from __future__ import annotations

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
from agents.telemetry.reading.spans import Span
from agents.telemetry.schemas.scores import LangfuseBatch, LangfuseEvent

ACCEPTED, MIXED, CREATED = 202, 207, 201
SCORE_CREATE = "score-create"
_USE_OTLP = (
    "this server takes traces by OpenTelemetry alone: send them to /api/public/otel/v1/traces, as Langfuse's SDKs do "
    "from version 3 on."
)


def _json(value: Any, status: int = 200) -> HttpResponseBase:
    return json_response(msgspec.json.encode(value), status)


class LangfuseScores(ReportView):
    """Receives a score of Langfuse, or a list of them, of which those in order are stored."""

    actions = {"post": "ingest"}

    def post(self, request: Request) -> HttpResponseBase:
        body, now_us = self.json(), ids.now_us()
        if not isinstance(body, list):
            score_id, span = scores.langfuse_span(body, self.actor.name, now_us)
            self.store(Decoded([span]))
            return _json({"id": score_id})
        spans: list[Span] = []
        errors: list[dict[str, str]] = []
        for index, item in enumerate(body):
            try:
                spans.append(scores.langfuse_span(item, self.actor.name, now_us)[1])
            except InvalidRequest as error:
                errors.append({"message": f"[{index}].{error.message}"})
        self.store(Decoded(spans))
        if errors:
            return _json({"accepted": len(spans), "rejected": len(errors), "errors": errors}, MIXED)
        return _json({"message": "Accepted"}, ACCEPTED)


class LangfuseIngestion(ReportView):
    """Receives the batches of Langfuse's earlier clients, of which only scores are taken."""

    actions = {"post": "ingest"}

    def post(self, request: Request) -> HttpResponseBase:
        batch, now_us = scores.read(LangfuseBatch, self.json()).batch, ids.now_us()
        spans: list[Span] = []
        successes: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        for index, item in enumerate(batch):
            event_id = str(item.get("id", index))[:128] if isinstance(item, dict) else str(index)
            try:
                event = scores.read(LangfuseEvent, item)
                if event.type != SCORE_CREATE:
                    raise InvalidRequest(f"type: {event.type} is not taken; {_USE_OTLP}", param="type")
                spans.append(scores.langfuse_span(event.body, self.actor.name, now_us)[1])
                successes.append({"id": event.id, "status": CREATED})
            except InvalidRequest as error:
                errors.append({"id": event_id, "status": error.status, "message": error.message, "error": error.code})
        self.store(Decoded(spans))
        return _json({"successes": successes, "errors": errors}, MIXED)


class LangSmithFeedbackView(ReportView):
    """Receives feedback of LangSmith."""

    actions = {"post": "ingest"}

    def post(self, request: Request) -> HttpResponseBase:
        body = self.json()
        feedback_id, span = scores.langsmith_span(body, self.actor.name, ids.now_us())
        self.store(Decoded([span]))
        return _json({"id": feedback_id, "run_id": span.id, "trace_id": span.trace})
