"""Where other senders than OpenTelemetry report what agents did: OpenAI's Agents SDK, and LangSmith's clients."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from agents.base.api.negotiation import json_response
from agents.base.api.views import nothing
from agents.base.errors import UnsupportedMedia
from agents.telemetry.api import request_bodies
from agents.telemetry.api.otlp import Report
from agents.telemetry.reading import langsmith, openai_agents
from agents.telemetry.reading.decoding import Decoded

ACCEPTED = 202
LIMIT_BYTES = 20 * 2**20
"""What LangSmith's clients put into one request at most: they are told."""


class AgentsTraces(Report):
    """The exporter of OpenAI's Agents SDK, pointed here."""

    actions = {"post": "ingest"}

    def post(self, request: Request) -> HttpResponseBase:
        self.taken(openai_agents.from_json(self.json()))
        return nothing()


class LangSmithInfo(Report):
    """What LangSmith's clients ask before they send anything."""

    actions = {"get": None}

    def get(self, request: Request) -> HttpResponseBase:
        batches: dict[str, Any] = {
            "use_multipart_endpoint": True,
            "scale_up_qsize_trigger": 1000,
            "scale_up_nthreads_limit": 4,
            "scale_down_nempty_trigger": 4,
            "size_limit": 100,
            "size_limit_bytes": LIMIT_BYTES,
        }
        flags = {"zstd_compression_enabled": False}
        told = {"version": "0", "batch_ingest_config": batches, "instance_flags": flags}
        return json_response(msgspec.json.encode(told))


class _Runs(Report):
    """Runs, in one of the forms they are sent in."""

    actions = {"post": "ingest"}

    def accepted(self, decoded: Decoded) -> HttpResponseBase:
        self.taken(decoded)
        return json_response(b"{}", ACCEPTED)


class LangSmithMultipart(_Runs):
    def post(self, request: Request) -> HttpResponseBase:
        kind = request._request.headers.get("Content-Type", "")
        if not kind.lower().startswith("multipart/form-data"):
            raise UnsupportedMedia(f"Content-Type must be multipart/form-data, not {kind[:80] or 'absent'}.")
        body = request_bodies.read(request._request)
        return self.accepted(langsmith.from_multipart(body, kind))


class LangSmithBatch(_Runs):
    def post(self, request: Request) -> HttpResponseBase:
        return self.accepted(langsmith.from_batch(self.json()))


class LangSmithRuns(_Runs):
    def post(self, request: Request) -> HttpResponseBase:
        return self.accepted(langsmith.from_run(self.json()))


class LangSmithRun(_Runs):
    actions = {"patch": "ingest"}
    http_method_names = ["patch", "options"]

    def patch(self, request: Request, run_id: str) -> HttpResponseBase:
        return self.accepted(langsmith.from_run(self.json(), run_id))
