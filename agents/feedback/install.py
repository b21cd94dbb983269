"""Installs feedback in the server: it is deleted with its records, and rendered on their pages."""

from __future__ import annotations

from agents.feedback.store import feedback
from agents.pages.page_hooks import later, places
from agents.record.store import deletion_hooks
from agents.record.store.deletion_hooks import DeletionHooks


def install() -> None:
    about = DeletionHooks(
        sessions=feedback.delete_of_sessions,
        turns=feedback.delete_of_turns,
        steps=feedback.delete_of_steps,
        merged=feedback.merge_steps,
    )
    deletion_hooks.add("feedback", about)
    places.said_of = later("agents.feedback.pages.section")
    places.said_of_steps = later("agents.feedback.pages.step_controls")
    places.unsaid_of_step = later("agents.feedback.pages.empty_step_controls")
