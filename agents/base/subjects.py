"""The subjects that can be left out, and which of them this server has."""

from __future__ import annotations

from django.conf import settings

REMOVABLE = (
    "identity",
    "prices",
    "feedback",
    "forks",
    "tools",
    "safety",
    "knowledge",
    "relay",
    "telemetry",
    "log_tools",
    "webhooks",
    "budgets",
    "subagents",
    "automations",
    "batches",
)
"""In the order in which they are installed."""
NEEDS = {"batches": "knowledge"}
"""Subjects that cannot be without another: lines and results of batches are files of ``knowledge``."""


def is_installed(subject: str) -> bool:
    """Whether this server has a subject that can be left out."""
    return subject in settings.INSTALLED_SUBJECTS


def installed() -> tuple[str, ...]:
    """Those that this server has."""
    return tuple(filter(is_installed, REMOVABLE))


def left_out() -> tuple[str, ...]:
    """Those that this server does without."""
    return tuple(subject for subject in REMOVABLE if not is_installed(subject))
