"""The page that takes files of what agents did elsewhere, and the one that tells what came of them.

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
from agents.telemetry.api.imports import FORMATS, begin
from agents.telemetry.store import import_jobs
from agents.telemetry.store.import_jobs import AUTO, ImportRecord
from agents.uikit.access import PageRequest, page

AGAIN_S = 2
"""After so many seconds the page of a running import is loaded again."""
NAMES = {
    "auto": gettext_noop("told by each file"),
    "turns": gettext_noop("whole turns exported here"),
    "otlp": "OpenTelemetry (OTLP JSON)",
    "openai_agents": "OpenAI Agents SDK",
    "langsmith": "LangSmith",
    "mlflow": "MLflow",
    "phoenix": "Phoenix",
    "claude_code": "Claude Code",
    "codex": "Codex",
    "gemini_cli": "Gemini CLI",
}
STATES = {
    "waiting": gettext_noop("waiting"),
    "running": gettext_noop("running"),
    "completed": gettext_noop("completed"),
    "failed": gettext_noop("failed"),
    "interrupted": gettext_noop("interrupted"),
}
_MARKS = {"waiting": "queued", "running": "in_progress"}
"""The colours of turns' statuses."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An import with the words for its state; ``percent`` is of its bytes, 100 while traces become turns."""

    record: ImportRecord

    @property
    def words(self) -> str:
        return _(STATES[self.record.state])

    @property
    def status(self) -> str:
        return _MARKS.get(self.record.state, self.record.state)

    @property
    def percent(self) -> int:
        size = self.record.size
        return min(self.record.report.size * 100 // size, 100) if size else 0

    @property
    def format(self) -> str:
        return _(NAMES.get(self.record.format, self.record.format))


@page("ingest")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: PageRequest) -> HttpResponse:
    """The form, and one's last imports; a POST starts one and leads to its page."""
    if request.method != "POST":
        return _form(request)
    try:
        record = begin(request.actor, request.POST, request.FILES.getlist("file"))
    except (InvalidRequest, TooLarge) as error:
        return _form(request, error, status=error.status)
    return redirect("import", import_id=record.public_id)


@page("ingest")
@never_cache
@require_safe
def import_detail(request: PageRequest, import_id: str) -> HttpResponse:
    """How far an import is, what was skipped, and the way to its turns."""
    record = import_jobs.get(request.actor, import_id)
    context = {
        "import": Shown(record),
        "record": record,
        "report": record.report,
        "sessions": _sessions(request.actor, record),
        "more": record.report.reasons.total() - len(record.report.skipped),
        "turns_url": _turns_url(record),
    }
    response = render(request, "agents/import_detail.html", context)
    if not record.is_over:
        response["Refresh"] = str(AGAIN_S)
    return response


def _form(request: PageRequest, error: Any = None, status: int = 200) -> HttpResponse:
    given = request.POST
    chosen = given.get("format", AUTO)
    context = {
        "error": error,
        "formats": [(name, _(NAMES[name]), name == chosen) for name in FORMATS],
        "agent": given.get("agent", "")[:300],
        "session": given.get("session", "")[:300],
        "most": settings.MAX_UPLOAD_MB,
        "imports": [Shown(record) for record in import_jobs.listing(request.actor)],
    }
    return render(request, "agents/import_page.html", context, status=status)


def _sessions(actor: Actor, record: ImportRecord) -> list[tuple[str, str]]:
    """The sessions that the reader may see: (public id, what they are called)."""
    keys = record.report.sessions
    seen = set(listing.visible("session", actor).filter(pk__in=keys).values_list("pk", flat=True))
    rows = of("session", [key for key in keys if key in seen])
    return [(ids.public(ids.Kind.SESSION, row.id), row.name) for row in rows]


def _turns_url(record: ImportRecord) -> str:
    """The list of what was imported, as far as a query can say it."""
    if record.agent:
        name = record.agent.replace("\\", "\\\\").replace('"', '\\"')
        query = f'source:import agent:"{name}"'
        return f"/logs/?{urlencode({'q': query})}"
    return f"/logs/?{urlencode({'q': 'source:import'})}"
