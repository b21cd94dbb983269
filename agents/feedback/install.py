"""How feedback joins the server: it goes with its records, stands on their pages, and queries ask for it."""

from __future__ import annotations

from django.utils.translation import gettext_noop

from agents.base.later import later
from agents.feedback.store import feedback, query_fields
from agents.logs.store import query, saved_views
from agents.logs.store.saved_views import View
from agents.pages.places import places
from agents.record.store import attached
from agents.record.store.attached import Attached

_PRESENCE = {"rating": "ratings", "comment": "comments"}


def install() -> None:
    about = Attached(
        sessions=feedback.drop_of_sessions,
        turns=feedback.drop_of_turns,
        steps=feedback.drop_of_steps,
        merged=feedback.merge_steps,
    )
    attached.add("feedback", about)
    for field in query_fields.FIELDS:
        query.add(field, query_fields.TERMS, _PRESENCE.get(field.name, ""))
    saved_views.add_built_in(View("rated-down", gettext_noop("Rated down"), "rating:down", "turn"))
    places.said_of = later("agents.feedback.pages.section")
    places.said_of_steps = later("agents.feedback.pages.step_controls")
    places.unsaid_of_step = later("agents.feedback.pages.unsaid")
