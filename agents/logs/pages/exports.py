"""Download all rows of a list as a file."""

from __future__ import annotations

from django.http.response import HttpResponseBase

from agents.base.api.views import Awaited
from agents.base.errors import InvalidRequest
from agents.logs.api import exports
from agents.logs.pages.numbers import zone_of
from agents.logs.runner import export_requests
from agents.query.tree import Level
from agents.uikit.access import PageRequest, page

LEVELS: dict[str, Level] = {name: level for level in exports.LEVELS for name in (level, f"{level}s")}


@page("read")
def log_export(request: PageRequest) -> HttpResponseBase:
    """Export under the reader's login; the parameters and ``level`` are those of the API."""
    level = LEVELS.get(request.GET.get("level") or "turn")
    if level is None:
        raise InvalidRequest(f"level: say one of {', '.join(exports.LEVELS)}.", param="level")
    params = {name: str(text) for name, text in request.GET.items()}
    export_request = export_requests.read_request(request.actor, level, {**params, "tz": zone_of(request)})
    return Awaited(lambda: exports.answer(export_request))
