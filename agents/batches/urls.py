"""Where batches are reached."""

from __future__ import annotations

from django.urls import URLPattern

from agents.base.api.routes import Routes
from agents.batches.api import batches

API = Routes(
    openai=[
        ("batches", batches.BatchListView),
        ("batches/<str:job_id>", batches.BatchDetail),
        ("batches/<str:job_id>/cancel", batches.BatchCancel),
    ],
)
PAGES: list[URLPattern] = []
