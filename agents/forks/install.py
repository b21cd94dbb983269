"""How forks join the server: the pages of turns say what was forked from what, and lead to new forks."""

from __future__ import annotations

from agents.pages.page_hooks import later, places


def install() -> None:
    places.lineage = later("agents.forks.pages.lineage.lineage")
    places.origin = later("agents.forks.pages.origins.words")
    places.fork_url = later("agents.forks.pages.origins.fork_url")
