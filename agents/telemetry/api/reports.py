"""The endpoints of other senders than OpenTelemetry: OpenAI's Agents SDK, and LangSmith's clients."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from agents.base.api.negotiation import json_response
from agents.base.api.views import no_content
from agents.base.errors import UnsupportedMedia
from agents.telemetry.api.otlp import ReportView
from agents.telemetry.reading import langsmith, openai_agents
from agents.telemetry.reading.decoding import Decoded

ACCEPTED_STATUS = 202
MAX_BATCH_BYTES = 20 * 2**20
"""The largest request of LangSmith's clients: `LangSmithInfo` announces it to them."""


class AgentsSdkTraces(ReportView):
    """Receives the traces of the exporter of OpenAI's Agents SDK."""

    actions = {"post": "ingest"}

    def post(self, request: Request) -> HttpResponseBase:
        self.store(openai_agents.from_json(self.json()))
        return no_content()


class LangSmithInfo(ReportView):
    """The settings that LangSmith's clients ask for before they send anything."""

    actions = {"get": None}

    def get(self, request: Request) -> HttpResponseBase:
        batches: dict[str, Any] = {
            "use_multipart_endpoint": True,
            "scale_up_qsize_trigger": 1000,
            "scale_up_nthreads_limit": 4,
            "scale_down_nempty_trigger": 4,
            "size_limit": 100,
            "size_limit_bytes": MAX_BATCH_BYTES,
        }
        flags = {"zstd_compression_enabled": False}
        settings = {"version": "0", "batch_ingest_config": batches, "instance_flags": flags}
        return json_response(msgspec.json.encode(settings))


class _LangSmithRunsView(ReportView):
    """The base of the views that receive runs, one for each form."""

    actions = {"post": "ingest"}

    def accept(self, decoded: Decoded) -> HttpResponseBase:
        self.store(decoded)
        return json_response(b"{}", ACCEPTED_STATUS)


class LangSmithMultipart(_LangSmithRunsView):
    def post(self, request: Request) -> HttpResponseBase:
        kind = request._request.headers.get("Content-Type", "")
        if not kind.lower().startswith("multipart/form-data"):
            raise UnsupportedMedia(f"Content-Type must be multipart/form-data, not {kind[:80] or 'absent'}.")
        body = self.raw
        return self.accept(langsmith.from_multipart(body, kind))


class LangSmithBatch(_LangSmithRunsView):
    def post(self, request: Request) -> HttpResponseBase:
        return self.accept(langsmith.from_batch(self.json()))


class LangSmithRuns(_LangSmithRunsView):
    def post(self, request: Request) -> HttpResponseBase:
        return self.accept(langsmith.from_run(self.json()))


class LangSmithRun(_LangSmithRunsView):
    actions = {"patch": "ingest"}
    http_method_names = ["patch", "options"]

    def patch(self, request: Request, run_id: str) -> HttpResponseBase:
        return self.accept(langsmith.from_run(self.json(), run_id))
