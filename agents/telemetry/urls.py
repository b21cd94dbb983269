"""Where agents that run elsewhere report, and where their logs are taken in."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import Route, Routes
from agents.base.lazy_import import LazyModule
from agents.telemetry.api import imports, otlp, reports, scores, spans

connect = LazyModule("agents.telemetry.pages.connect")
external_spans = LazyModule("agents.telemetry.pages.external_spans")
import_pages = LazyModule("agents.telemetry.pages.imports")
unmatched = LazyModule("agents.telemetry.pages.unmatched")

_LANGSMITH: list[Route] = [
    ("info", reports.LangSmithInfo),
    ("runs", reports.LangSmithRuns),
    ("runs/multipart", reports.LangSmithMultipart),
    ("runs/batch", reports.LangSmithBatch),
    ("runs/<str:run_id>", reports.LangSmithRun),
    ("feedback", scores.LangSmithFeedbackView),
    ("feedback/<str:score_id>", scores.LangSmithFeedbackDetail),
]
_LANGFUSE: list[Route] = [
    ("otel/v1/traces", otlp.TracesView),
    ("scores", scores.LangfuseScores),
    ("ingestion", scores.LangfuseIngestion),
]
_REPEATED: list[Route] = [(signal, otlp.RepeatedPathView) for signal in ("traces", "logs", "metrics")]
API = Routes(
    rest=[
        ("telemetry/spans", spans.SpanQuery),
        ("traces", otlp.TracesView),
        ("logs", otlp.LogsView),
        ("metrics", otlp.MetricsView),
        ("traces/ingest", reports.AgentsSdkTraces),
        *imports.ROUTES,
    ],
    elsewhere=[
        *(("langsmith/", _LANGSMITH), ("api/public/", _LANGFUSE)),
        *(("v1/v1/", _REPEATED), ("v1/traces/v1/", _REPEATED)),
    ],
)
PAGES: list[URLPattern] = [
    path("turns/<str:turn_id>/spans.jsonl", external_spans.turn_spans, name="turn-spans"),
    path("turns/<str:turn_id>/spans/<path:span_id>/", external_spans.span_page, name="turn-span"),
    path("connect/", connect.connect, name="connect"),
    path("connect/unmatched/", unmatched.unmatched_list, name="unmatched"),
    path("connect/unmatched/<str:trace_id>/spans.jsonl", unmatched.unmatched_spans, name="unmatched-spans"),
    path("import/", import_pages.import_page, name="imports"),
    path("import/<str:import_id>/", import_pages.import_detail, name="import"),
]
