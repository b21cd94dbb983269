"""The page that uploads files of external agents, and the page with the result of an import.

Both work without scripts: a page of an import that is not over asks to be loaded again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, TooLarge
from agents.logs.store import listing
from agents.logs.store.rows import of
from agents.telemetry.api.imports import FORMATS, start_import
from agents.telemetry.store import import_jobs
from agents.telemetry.store.add_file import AUTO_FORMAT
from agents.telemetry.store.import_jobs import ImportRecord
from agents.uikit.access import PageRequest, page
from agents.uikit.links import at

REFRESH_S = 2
"""Seconds after which the page of a running import is loaded again."""
FORMAT_NAMES = {
    "auto": gettext_noop("read from each file"),
    "turns": gettext_noop("whole turns exported here"),
    "otlp": "OpenTelemetry (OTLP JSON), Tempo",
    "openai_agents": "OpenAI Agents SDK",
    "langsmith": "LangSmith",
    "mlflow": "MLflow",
    "phoenix": "Phoenix",
    "jaeger": "Jaeger",
    "langfuse": "Langfuse",
    "openai_chat": "OpenAI chat (JSONL)",
    "atif": "ATIF",
    "claude_code": "Claude Code",
    "codex": "Codex",
    "gemini_cli": "Gemini CLI",
}
STATE_NAMES = {
    "waiting": gettext_noop("waiting"),
    "running": gettext_noop("running"),
    "completed": gettext_noop("completed"),
    "failed": gettext_noop("failed"),
}
_STATUS_COLOURS = {"waiting": "queued", "running": "in_progress"}
"""The colours of turns' statuses."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """An import with the labels of its state; ``percent`` is of its bytes, 100 while traces become turns."""

    record: ImportRecord

    @property
    def state_name(self) -> str:
        return _(STATE_NAMES[self.record.state])

    @property
    def status(self) -> str:
        return _STATUS_COLOURS.get(self.record.state, self.record.state)

    @property
    def percent(self) -> int:
        size = self.record.size
        return min(self.record.report.size * 100 // size, 100) if size else 0

    @property
    def format(self) -> str:
        return _(FORMAT_NAMES.get(self.record.format, self.record.format))


@page("ingest")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: PageRequest) -> HttpResponse:
    """Render the form and the reader's last imports; a POST starts an import and redirects to its page."""
    if request.method != "POST":
        return _form(request)
    try:
        record = start_import(request.actor, request.POST, request.FILES.getlist("file"))
    except (InvalidRequest, TooLarge) as error:
        return _form(request, error, status=error.status)
    return redirect("import", import_id=record.public_id)


@page("ingest")
@never_cache
@require_safe
def import_detail(request: PageRequest, import_id: str) -> HttpResponse:
    """Render the progress of an import, what was skipped, and links to its turns."""
    record = import_jobs.get(request.actor, import_id)
    context = {
        "import": ImportRow(record),
        "record": record,
        "report": record.report,
        "sessions": _sessions(request.actor, record),
        "more": record.report.reasons.total() - len(record.report.skipped),
        "turns_url": _turns_url(record),
    }
    response = render(request, "telemetry/import.html", context)
    if not record.is_over:
        response["Refresh"] = str(REFRESH_S)
    return response


def _form(request: PageRequest, error: Any = None, status: int = 200) -> HttpResponse:
    fields = request.POST
    chosen = fields.get("format", AUTO_FORMAT)
    context = {
        "error": error,
        "formats": [(name, _(FORMAT_NAMES[name]), name == chosen) for name in FORMATS],
        "agent": fields.get("agent", "")[:300],
        "session": fields.get("session", "")[:300],
        "most": settings.MAX_UPLOAD_MB,
        "imports": [ImportRow(record) for record in import_jobs.listing(request.actor)],
    }
    return render(request, "telemetry/import_page.html", context, status=status)


def _sessions(actor: Actor, record: ImportRecord) -> list[tuple[str, str]]:
    """The sessions that the reader may see, as (public id, name)."""
    keys = record.report.sessions
    visible = set(listing.visible("session", actor).filter(pk__in=keys).values_list("pk", flat=True))
    rows = of("session", [key for key in keys if key in visible])
    return [(ids.public(ids.Kind.SESSION, row.id), row.name) for row in rows]


def _turns_url(record: ImportRecord) -> str:
    """The URL of the list of imported turns, as far as a query can select them."""
    if record.agent:
        name = record.agent.replace("\\", "\\\\").replace('"', '\\"')
        query = f'source:import agent:"{name}"'
        return at(f"/logs/?{urlencode({'q': query})}")
    return at(f"/logs/?{urlencode({'q': 'source:import'})}")
