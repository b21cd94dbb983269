"""Installs feedback in the server: it is deleted with its records, and rendered on their pages."""

from __future__ import annotations

from agents.feedback.store import feedback
from agents.pages.page_hooks import hooks, lazy_import
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
    hooks.feedback_section = lazy_import("agents.feedback.pages.section")
    hooks.step_feedback = lazy_import("agents.feedback.pages.step_controls")
    hooks.empty_step_feedback = lazy_import("agents.feedback.pages.empty_step_controls")
