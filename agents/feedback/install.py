"""Installs feedback in the server: it is rendered on the pages of its records, and queried."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from agents.base.lazy_import import LazyFunction
from agents.feedback.store import query_fields
from agents.logs.store import query, row_feedback, saved_views
from agents.logs.store.saved_views import StoredView
from agents.pages.page_hooks import hooks
from agents.record.store.feedback_hooks import hooks as feedback_hooks

_PRESENCE = {"rating": "ratings", "comment": "comments"}


def install() -> None:
    for field in query_fields.FIELDS:
        query.add_field(field, query_fields.TERMS, _PRESENCE.get(field.name, ""))
    saved_views.add_built_in(StoredView("rated-down", gettext_noop("Rated down"), "rating:down", "turn"))
    row_feedback.reader.of_rows = LazyFunction("agents.feedback.store.row_feedback.of_rows")
    row_feedback.reader.score_names = LazyFunction("agents.feedback.store.row_feedback.score_names")
    hooks.feedback_section = LazyFunction("agents.feedback.pages.section")
    hooks.step_feedback = LazyFunction("agents.feedback.pages.step_controls")
    hooks.empty_step_feedback = LazyFunction("agents.feedback.pages.empty_step_controls")
    feedback_hooks.put = LazyFunction("agents.feedback.store.reported.put")
    feedback_hooks.reported = LazyFunction("agents.feedback.store.reported.reported")
    feedback_hooks.of_turn = LazyFunction("agents.feedback.store.reported.of_turn")
