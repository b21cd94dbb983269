"""``manage.py demo``: loads sample agents and turns of every kind."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.base.subjects import is_installed

REQUIRED_SUBJECTS = ("tools", "safety", "knowledge")
"""The subjects that the demo's agents need."""


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
        from agents.server.demo import load

        if if_empty and not load.is_empty():
            return
        turn_count = load.load(turns)
        if options["verbosity"]:
            self.stdout.write(f"Loaded {turn_count} sample turns.")
