"""Installs budgets in the server: pages of sessions and agents show theirs."""

from __future__ import annotations

from agents.base.lazy_import import lazy_import
from agents.pages.page_hooks import hooks


def install() -> None:
    hooks.budget_section = lazy_import("agents.budgets.pages.section")
