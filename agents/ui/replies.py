"""What a form that started or changed a turn is answered: the turn's page, or its ids for a script."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect


def turn_reply(request: HttpRequest, turn_id: str, **ids: str) -> HttpResponse:
    """Lead to the turn's page; where JSON was asked for, tell the ids instead."""
    if request.headers.get("Accept", "").startswith("application/json"):
        return JsonResponse({"turn_id": turn_id, **ids})
    return redirect("turn", turn_id)
