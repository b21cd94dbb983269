"""The OTLP endpoints, where OpenTelemetry sends what agents did elsewhere: over HTTP, protobuf and JSON.

A request that is answered 200 is stored; its turns are projected in the background. A sender retries after 429, 502,
503 and 504 alone, so trouble of ours is always 503.
"""

from __future__ import annotations

from typing import Any

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from agents.base.access import Actor
from agents.base.api import request_bodies
from agents.base.api.authentication import actor_of_sender
from agents.base.api.negotiation import for_caller, json_response
from agents.base.api.views import ApiView
from agents.base.errors import AgentsError, InvalidRequest, NotFound, TooLarge, UnsupportedMedia
from agents.telemetry.api import intake
from agents.telemetry.reading import otlp, otlp_responses
from agents.telemetry.reading.decoding import Decoded
from agents.telemetry.reading.otlp_responses import OtlpEncoding, OtlpSignal
from agents.telemetry.store.external.backlog import backlog
from agents.uikit.links import base_url

JSON, PROTOBUF = "application/json", "application/x-protobuf"
MAX_CONTAINERS, MAX_VALUES = 300_000, 2_000_000
"""Objects and lists, and values, of one body of JSON: each costs a hundred bytes once it is decoded."""


class ReportView(ApiView):
    """The base of the views that senders report to. Keys come in more places than elsewhere. The formats are
    documented by those who made them, so they are not in our OpenAPI schema."""

    takes = "report"
    schema = None

    @staticmethod
    def identify(request: HttpRequest) -> Actor:
        return actor_of_sender(request.headers, request.path)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if (request.method or "").lower() in self.actions and request.method != "GET":
            backlog.check(self.actor)  # before the body is read

    def handle_exception(self, exc: Exception) -> Any:
        self.count_refusal(exc)
        return super().handle_exception(exc)

    def count_refusal(self, error: Exception) -> None:
        """Count a report that is refused, by the route that it came to."""
        route = self.request._request.resolver_match
        path = f"/{route.route}" if route is not None else self.request._request.path
        intake.count_refusal(getattr(self, "actor", None), path, error)

    @property
    def raw(self) -> bytes:
        return request_bodies.read(self.request._request, settings.MAX_OTLP_MB)

    def json(self) -> Any:
        """The body as JSON. Raises InvalidRequest, TooLarge, UnsupportedMedia."""
        request = self.request._request
        if request.content_type != JSON:
            kind = (request.content_type or "absent")[:80]
            raise UnsupportedMedia(f"Content-Type must be {JSON}, not {kind}.")
        return as_json(self.raw)

    def store(self, decoded: Decoded) -> None:
        """Store the decoded spans."""
        intake.store(self.actor, decoded)


class OtlpView(ReportView):
    """The view of one of OTLP's signals."""

    actions = {"post": "ingest"}
    signal: OtlpSignal = "traces"

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, APIException):
            return super().handle_exception(exc)
        self.count_refusal(exc)
        request = self.request._request
        return _error_response(for_caller(exc, request), request, self._form())

    def _form(self) -> OtlpEncoding:
        return "protobuf" if self.request._request.content_type == PROTOBUF else "json"

    def _decode(self) -> Decoded:
        request = self.request._request
        if request.content_type not in (JSON, PROTOBUF):
            kind = (request.content_type or "absent")[:80]
            raise UnsupportedMedia(f"Content-Type must be {PROTOBUF} or {JSON}, not {kind}.")
        body = self.raw
        from_protobuf, from_json = otlp.READERS[self.signal]
        if request.content_type == PROTOBUF:
            return from_protobuf(body)
        return from_json(as_json(body))

    def post(self, request: Request) -> HttpResponseBase:
        form = self._form()
        response = intake.take_in(self.actor, self.signal, form, self._decode)
        return HttpResponse(response, content_type=PROTOBUF if form == "protobuf" else JSON)


def _error_response(error: AgentsError, request: HttpRequest, form: OtlpEncoding) -> HttpResponseBase:
    """The response for an error, in OTLP's form; as JSON it is our own error body, too."""
    status = otlp_responses.to_status(error.status, error.message, form)
    if form == "protobuf":
        return HttpResponse(status, status=error.status, content_type=PROTOBUF, headers=error.headers)
    ours = error.body(getattr(request, "request_id", ""))
    return json_response(msgspec.json.encode({**msgspec.json.decode(status), **ours}), error.status, error.headers)


def as_json(body: bytes) -> Any:
    """Decode a body as JSON. Raises InvalidRequest, TooLarge."""
    if body.count(b"{") + body.count(b"[") > MAX_CONTAINERS or body.count(b",") > MAX_VALUES:
        raise TooLarge("The body holds too many values; send it in several.")
    try:
        return msgspec.json.decode(body) if body else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"The body is not JSON we can read: {error}", code="invalid_json") from error


class TracesView(OtlpView):
    """Spans."""


class LogsView(OtlpView):
    """Log records; those that name a span are merged into it."""

    signal: OtlpSignal = "logs"


class RepeatedPathView(OtlpView):
    """The view of an address whose end the exporter has added to an address that had it already."""

    actions = {"post": None}

    def post(self, request: Request) -> HttpResponseBase:
        path, base = request._request.path, base_url(request._request)
        signal = path.rpartition("/")[2]
        raise NotFound(
            f"Nothing is at {path[:80]}: exporters add /v1/{signal} to OTEL_EXPORTER_OTLP_ENDPOINT by themselves. Set "
            f"OTEL_EXPORTER_OTLP_ENDPOINT={base}, or OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT={base}/v1/{signal}.",
            code="repeated_path",
        )


class MetricsView(OtlpView):
    """Metrics, which are accepted and dropped."""

    signal: OtlpSignal = "metrics"
