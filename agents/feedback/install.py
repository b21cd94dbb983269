"""Installs feedback in the server: it is deleted with its records, rendered on their pages, and queried."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from agents.base.lazy_import import lazy_import
from agents.feedback.store import feedback, query_fields
from agents.logs.store import query, saved_views
from agents.logs.store.saved_views import StoredView
from agents.pages.page_hooks import hooks
from agents.record.store import deletion_hooks
from agents.record.store.deletion_hooks import DeletionHooks

_PRESENCE = {"rating": "ratings", "comment": "comments"}


def install() -> None:
    about = DeletionHooks(
        sessions=feedback.delete_of_sessions,
        turns=feedback.delete_of_turns,
        steps=feedback.delete_of_steps,
        merged=feedback.merge_steps,
    )
    deletion_hooks.add("feedback", about)
    for field in query_fields.FIELDS:
        query.add_field(field, query_fields.TERMS, _PRESENCE.get(field.name, ""))
    saved_views.add_built_in(StoredView("rated-down", gettext_noop("Rated down"), "rating:down", "turn"))
    hooks.feedback_section = lazy_import("agents.feedback.pages.section")
    hooks.step_feedback = lazy_import("agents.feedback.pages.step_controls")
    hooks.empty_step_feedback = lazy_import("agents.feedback.pages.empty_step_controls")
