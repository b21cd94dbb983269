"""The subjects that join those below them by what they register, each with ``install`` of its module of that name."""

from __future__ import annotations

from importlib import import_module

JOINING = ("logs", "identity", "feedback", "forks", "tools", "safety", "knowledge", "telemetry")


def install() -> None:
    """Let each subject register what it adds to the others. Called once, when all tables are known."""
    for subject in JOINING:
        import_module(f"agents.{subject}.install").install()
