"""How forks join the server: the pages of turns say what was forked from what, and lead to new forks; a fork whose
process is gone is taken over; whoever reads the log as text can compare turns."""

from __future__ import annotations

from agents.base.lazy_import import LazyFunction
from agents.logs.log_hooks import hooks as log_hooks
from agents.loop.extensions import extensions
from agents.pages.page_hooks import hooks


def install() -> None:
    log_hooks.comparison = LazyFunction("agents.forks.runner.comparing.comparison_chunks")
    extensions.fork_builder = LazyFunction("agents.forks.runner.fork.rebuilt_run")
    hooks.lineage = LazyFunction("agents.forks.pages.lineage.lineage")
    hooks.origin = LazyFunction("agents.forks.pages.origins.label")
    hooks.fork_url = LazyFunction("agents.forks.pages.origins.fork_url")
