"""Counts what happens in this process, for ``/metrics`` in the format of Prometheus.

Whoever does something counts it here by a function of one line, once per request, step or commit, never per token.
What is only known when somebody asks (queues, open sockets, rows of a kind) is read then: `measure` registers how.
Labels have few values, all of them words of ours or names in the operator's settings: no id, no text of a caller.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

log = logging.getLogger(__name__)

PREFIX = "turnlog_"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_REQUEST_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_WORK_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_COMMIT_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)

registry = CollectorRegistry()
"""The metrics of this process, and nothing that others register."""
disable_created_metrics()  # type: ignore[no-untyped-call]  # untyped library; when a counter began is of no use here, and a third of all lines
ProcessCollector(registry=registry)


def _counter(name: str, documentation: str, *labels: str) -> Counter:
    return Counter(f"{PREFIX}{name}", documentation, labels, registry=registry)


def _histogram(name: str, documentation: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(f"{PREFIX}{name}", documentation, labels, buckets=buckets, registry=registry)


_requests = _counter("http_requests", "Requests answered, by class of route and status.", "route", "status")
_request_seconds = _histogram(
    "http_request_seconds", "Seconds from a request to the beginning of its response.", _REQUEST_S, "route"
)
_turns = _histogram(
    "turn_seconds", "Seconds from a turn's first event to its last, by how it ended.", _WORK_S, "outcome"
)
_tokens = _counter("tokens", "Tokens of inferences of turns that ran here.", "kind")
_cost = _counter("cost_dollars", "US dollars that inferences of turns cost which ran here, as far as prices are known.")
_inferences = _histogram(
    "inference_seconds", "Seconds of a model's answer, by endpoint and outcome.", _WORK_S, "endpoint", "outcome"
)
_first_tokens = _histogram(
    "inference_first_token_seconds", "Seconds from a request to a model to its first token.", _WORK_S, "endpoint"
)
_tools = _histogram("tool_call_seconds", "Seconds of a tool call of the server, by outcome.", _WORK_S, "outcome")
_spans = _counter("ingest_spans", "Spans received from agents that run elsewhere.")
_commits = _histogram("writer_commit_seconds", "Seconds of a commit of the writer, its jobs included.", _COMMIT_S)
_jobs = _counter("writer_jobs", "Jobs that the writer has committed.")
_failures = _counter("database_failures", "Failures of the database, by kind.", "kind")
_readers = Gauge(f"{PREFIX}readers", "Live readers, by kind: streams and sockets.", ("kind",), registry=registry)
_rounds = _counter("round_failures", "Failed rounds of the server's periodic work, by its name.", "round")


def count_request(route: str, status: int, seconds: float) -> None:
    """Count a request whose response begins. ``route`` is a class of routes, not a path."""
    _requests.labels(route, str(status)).inc()
    _request_seconds.labels(route).observe(seconds)


def count_turn(outcome: str, seconds: float) -> None:
    """Count a turn that ended."""
    _turns.labels(outcome).observe(seconds)


def count_usage(tokens: Mapping[str, int], cost_nano: int | None) -> None:
    """Count the tokens of inferences by kind, and their cost in billionths of a dollar where it is known."""
    for kind, number in tokens.items():
        if number > 0:
            _tokens.labels(kind).inc(number)
    if cost_nano is not None and cost_nano > 0:
        _cost.inc(cost_nano / 1e9)


class Inference:
    """One answer of a model, from its request to its `end`. ``endpoint`` is a name from the settings."""

    __slots__ = ("_began", "_endpoint", "_first_at")

    def __init__(self, endpoint: str) -> None:
        self._endpoint, self._began, self._first_at = endpoint, time.perf_counter(), 0.0

    def first_token(self) -> None:
        """Note the time of the first token, unless one was noted before."""
        self._first_at = self._first_at or time.perf_counter()

    def end(self, outcome: str) -> None:
        """Count the answer, as ``completed``, ``failed`` or ``cancelled``."""
        _inferences.labels(self._endpoint, outcome).observe(time.perf_counter() - self._began)
        if self._first_at:
            _first_tokens.labels(self._endpoint).observe(self._first_at - self._began)


def count_tool_call(outcome: str, seconds: float) -> None:
    """Count a call of a tool that this server ran."""
    _tools.labels(outcome).observe(seconds)


def count_spans(number: int) -> None:
    """Count spans that were received and stored."""
    _spans.inc(number)


def count_commit(jobs: int, seconds: float) -> None:
    """Count a commit of the writer."""
    _commits.observe(seconds)
    _jobs.inc(jobs)


def count_failure(kind: str) -> None:
    """Count a failure of the database."""
    _failures.labels(kind).inc()


def reader_came(kind: str) -> None:
    """Count a live reader."""
    _readers.labels(kind).inc()


def reader_left(kind: str) -> None:
    """Count a live reader no more."""
    _readers.labels(kind).dec()


def count_failed_round(name: str) -> None:
    """Count a failed round of periodic work."""
    _rounds.labels(name).inc()


# ---------------------------------------------------------------------------------------------- measured


class _Measured(Collector):
    """The gauges that are read when somebody asks."""

    def __init__(self) -> None:
        self._readers: dict[str, tuple[str, str, Callable[[], Mapping[str, float]]]] = {}
        self._lock = Lock()

    def add(self, name: str, documentation: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        with self._lock:
            self._readers[name] = documentation, label, read

    def describe(self) -> Iterator[Metric]:
        return iter(())  # a registry would else read all gauges to learn their names

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            readers = dict(self._readers)
        for name, (documentation, label, read) in readers.items():
            try:
                values = read()
            except Exception as error:  # logged: what cannot be measured must not hide all other figures
                log.error("%s cannot be measured", name, exc_info=error)
                continue
            family = GaugeMetricFamily(name, documentation, labels=[label] if label else [])
            for value, number in values.items():
                family.add_metric([value] if label else [], number)
            yield family


_measured = _Measured()
registry.register(_measured)


def measure(name: str, documentation: str, read: Callable[[], float]) -> None:
    """Register a gauge, which ``read`` returns whenever somebody asks, on a thread that may use the database. One of
    that name is replaced."""
    _measured.add(f"{PREFIX}{name}", documentation, "", lambda: {"": read()})


def measure_by(label: str, name: str, documentation: str, read: Callable[[], Mapping[str, float]]) -> None:
    """Register a gauge with a label; ``read`` returns its values."""
    _measured.add(f"{PREFIX}{name}", documentation, label, read)


def exposition() -> bytes:
    """Return all figures in Prometheus's text format."""
    return generate_latest(registry)
