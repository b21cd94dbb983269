"""Identifies every request, counts it, and writes a line about it, whoever answers it."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from functools import lru_cache, partial
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agents.base import log_context, metrics, sse, tracing
from agents.base.access import Actor
from agents.base.open_streams import ON_RESPONSE_END

log = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:=/+-]{0,127}")
"""Ids that a request may bring: of proxies, and of clients that look for it later."""
MAX_PATH = 500
"""Characters of a path in the log."""
_PREFIXES = ("v1/openai/v1/", "v1alpha/", "v1/")
"""Beginnings of routes of the API, the longest first."""
CALLS = "api/ingest"
"""The class of calls of gRPC, which bring reports."""
_PROBES = ("healthz", "readyz", "metrics")


def new_id() -> str:
    """Return an id for a request. It is no secret, and random numbers of the system cost a change of thread."""
    return f"{random.getrandbits(64):016x}"


def identify(headers: Mapping[str, str]) -> str:
    """Return the id of a request with these headers, its own where it brings a usable one, and let log lines and
    requests to others tell of it."""
    brought = headers.get("X-Request-ID", "")
    request_id = brought if _ID.fullmatch(brought) else new_id()
    log_context.begin(request_id=request_id)
    tracing.current.set(tracing.parse(headers.get("traceparent", ""), headers.get("tracestate", "")))
    return request_id


def answered(request: HttpRequest, response: HttpResponseBase, began: float) -> None:
    """Count a request whose response begins; ``began`` is its own time by `time.perf_counter`. Its line in the log
    follows when the response has ended."""
    route = route_of(request)
    metrics.count_request(route, response.status_code, time.perf_counter() - began)
    callbacks: list[Callable[[], None]] | None = getattr(request, "scope", {}).get(ON_RESPONSE_END)
    is_stream = isinstance(response, StreamingHttpResponse)
    if is_stream and callbacks is not None and response.headers.get("Content-Type") == sse.CONTENT_TYPE:
        metrics.reader_came("stream")
        callbacks.append(partial(metrics.reader_left, "stream"))
    level = logging.DEBUG if route == "probe" else logging.INFO
    if not log.isEnabledFor(level):
        return
    actor = getattr(request, "actor", None)
    line = _Line(str(request.method), request.path, route, response.status_code, began, actor)
    write = partial(_write, level, line)
    if is_stream and callbacks is not None:
        # its end comes outside the task of the request, and of its context
        callbacks.append(partial(copy_context().run, write))
    else:
        write()


def answered_call(path: str, status: int, began: float, actor: Actor | None) -> None:
    """Count a call of gRPC that is answered, and write its line. ``status`` is the one that HTTP has for its answer."""
    metrics.count_request(CALLS, status, time.perf_counter() - began)
    if log.isEnabledFor(logging.INFO):
        _write(logging.INFO, _Line("POST", path, CALLS, status, began, actor))


@dataclass(frozen=True, slots=True)
class _Line:
    """What the log says of a request; ``began`` as of `answered`."""

    method: str
    path: str
    route: str
    status: int
    began: float
    actor: Actor | None


def _write(level: int, line: _Line) -> None:
    if line.actor is not None:
        log_context.add_caller(line.actor)
    milliseconds = round((time.perf_counter() - line.began) * 1000, 1)
    # without the query, which has words of people; quoted, so that no path begins a line of its own
    path = quote(line.path[:MAX_PATH], safe="/:@")
    fields = {
        "method": line.method,
        "path": path,
        "status": line.status,
        "duration_ms": milliseconds,
        "route": line.route,
    }
    told = log_context.fields()
    about = " ".join(f"{name}={value}" for name, value in told.items())
    log.log(level, "%s %s %s %s ms %s", line.method, path, line.status, milliseconds, about, extra={"fields": fields})


def refused(status: int, request_id: str) -> None:
    """Count and log what the server answered before it was a request: too large, too long, or no HTTP."""
    metrics.count_request("none", status, 0.0)
    log.info("refused with %s request_id=%s", status, request_id, extra={"fields": {"request_id": request_id}})


def route_of(request: HttpRequest) -> str:
    """Return the class of a request's route: ``api/turns``, ``page/logs``, …; ``none`` for a path without one."""
    match = request.resolver_match
    if match is not None:
        return _class_of(match.route)
    return "static" if request.path_info.startswith(settings.WHITENOISE_STATIC_PREFIX) else "none"


@lru_cache(maxsize=1024)
def _class_of(route: str) -> str:
    """Return the class of a route of the URL tables, of which there are a few hundred."""
    if route in _PROBES:
        return "probe"
    if route.startswith("^"):
        return "none"  # what answers unknown paths of the API
    if route.startswith("admin/"):
        return "admin"
    for prefix in _PREFIXES:
        if route.startswith(prefix):
            return f"api/{_resource(route.removeprefix(prefix))}"
    if route.startswith(("langsmith/", "api/public/")):
        return "api/ingest"
    return f"page/{_resource(route) or 'home'}"


def _resource(route: str) -> str:
    """Return what a route is about: its first word; of the routes below agents the sessions and turns."""
    if route.startswith("agents/"):
        return "turns" if "/turn" in route else "sessions" if "/session" in route else "agents"
    return "ingest" if route in ("traces", "traces/ingest", "logs", "metrics") else route.partition("/")[0]
