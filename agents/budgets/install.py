"""Installs budgets in the server: pages of sessions and agents show theirs."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.pages.page_hooks import hooks


def install() -> None:
    hooks.budget_section = LazyFunction("agents.budgets.pages.section")
