"""``turnlog demo``: loads sample agents and turns of every kind."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.base.store.claims import ClaimKind, claimed
from agents.base.subjects import is_installed
from agents.server.demo import REQUIRED_SUBJECTS, is_needed


class Command(BaseCommand):
    help = "Load sample agents with a few dozen turns of every kind, made by the loop itself."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--if-empty", action="store_true", help="only into an empty log")
        parser.add_argument("--turns", type=int, default=0, help="make this many turns, to try sizes")

    def handle(self, *args: Any, if_empty: bool, turns: int, **options: Any) -> None:
        missing = [subject for subject in REQUIRED_SUBJECTS if not is_installed(subject)]
        if missing and not if_empty:
            raise CommandError(f"The demo shows what this server is without: {', '.join(missing)}.")
        if missing:
            return
        turn_count = _load_into_empty(turns) if if_empty else _load(turns)
        if options["verbosity"] and turn_count:
            self.stdout.write(f"Loaded {turn_count} sample turns.")


def _load(turns: int) -> int:
    from agents.server.demo import load  # all that the demo needs: only where it is loaded

    return load.load(turns)


def _load_into_empty(turns: int) -> int:
    """Load the demo unless there is something; of several processes that start at once, one does."""
    if not is_needed():
        return 0
    with claimed(ClaimKind.START):
        return _load(turns) if is_needed() else 0
