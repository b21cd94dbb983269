"""What the Responses API registers with the loop: how its runs are built again when they are taken over."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.loop.extensions import extensions
from agents.record.models.choices import Api


def install() -> None:
    """Let other processes go on with responses whose process is gone."""
    extensions.run_builders[Api.RESPONSES] = LazyFunction("agents.responses.runner.takeover.rebuilt_run")
