"""``turnlog prices``: imports prices, and prices earlier steps that have no cost yet."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from agents.base.errors import AgentsError
from agents.base.store import keys
from agents.prices import reading
from agents.prices.store import prices


class Command(BaseCommand):
    help = (
        "Import prices (a JSON list, in dollars per million tokens; or LiteLLM's list of models), and price the steps "
        "that have no cost yet."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", help="a JSON list of prices, or LiteLLM's; - reads the standard input")
        parser.add_argument("--apply", action="store_true", help="price the steps whose cost is not known")

    def handle(self, *args: Any, file: str | None, apply: bool, **options: Any) -> None:
        if not file and not apply:
            raise CommandError("Name a file of prices, or say --apply.")
        try:
            if file:
                found = reading.read(_read(file))
                result = prices.add(found.prices)
                skipped = f" {found.skipped} models have no price by token." if found.skipped else ""
                self.stdout.write(f"{result.added} prices added, {result.known} were known.{skipped}")
            if apply:
                pricing = prices.price_unpriced(keys.local())
                self.stdout.write(f"{pricing.priced} steps priced; {pricing.left} have no price.")
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise CommandError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        except AgentsError as error:
            raise CommandError(error.message) from error


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}") from error
