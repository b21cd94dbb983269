"""Assembles the subjects of this server: their installation, URLs, admin pages and commands."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from agents.base.subjects import installed, left_out

INSTALLING = (
    *("record", "responses", "logs", "identity", "feedback", "forks", "tools", "safety", "knowledge", "telemetry"),
    *("pages", "webhooks", "budgets", "subagents", "automations", "batches"),
)
"""Subjects with an ``install`` module, which registers what they add to others."""
_ADMIN = ("identity", "prices", "tools", "safety", "knowledge", "relay", "webhooks", "automations")
"""Removable subjects with admin pages."""
_COMMANDS = {"identity": ("admin_link",), "prices": ("prices",), "log_tools": ("mcp",)}


def install() -> None:
    """Let each subject register what it adds to the others. Called once, when all models are loaded."""
    without = left_out()
    for subject in INSTALLING:
        if subject not in without:
            import_module(f"agents.{subject}.install").install()
    import_module("agents.server.gauges").register()
    import_module("agents.server.demo.questions").register()


def urls() -> list[ModuleType]:
    """Return the URL modules of the installed removable subjects."""
    return [import_module(f"agents.{subject}.urls") for subject in installed()]


def load_admin() -> None:
    """Let the removable subjects register their admin pages."""
    for subject in installed():
        if subject in _ADMIN:
            import_module(f"agents.{subject}.admin")


def hide_commands() -> None:
    """Remove the commands of left-out subjects from Django's table of commands. Django finds commands by their
    files, and all of them are in the folder of the one app."""
    hidden = [name for subject in left_out() for name in _COMMANDS.get(subject, ())]
    if hidden:
        from django.core.management import get_commands  # it scans the folders of all apps

        for name in hidden:
            get_commands().pop(name, None)
