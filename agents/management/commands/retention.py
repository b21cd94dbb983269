"""``turnlog retention``: rules that say which turns are deleted after some time, or archived before.

A serving process runs them once an hour; here they are added, looked through and run at once. It acts as the local
admin.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.base import ids
from agents.base.errors import AgentsError, QuerySyntax
from agents.base.store import keys
from agents.logs.runner import retention as running
from agents.logs.store import retention
from agents.logs.store.retention import StoredReceipt, StoredRule
from agents.query.describe import describe
from agents.server.command_line import parsing
from agents.server.command_line.parsing import QueryParser

MAX_SESSIONS = 20
"""Sessions that a preview names, without --all."""
MAX_RECEIPTS = 50
_ACTS = {
    "add": "add a rule",
    "list": "the rules, and when they ran",
    "remove": "remove a rule; receipts and files stay",
    "preview": "count what rules would delete now",
    "run": "run rules now",
    "receipts": "what the last runs have deleted, and into which files it was written",
}


class Command(BaseCommand):
    help = "Delete turns that a query selects, or archive and then delete them, again and again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        subparsers = parser.add_subparsers(dest="act", required=True, metavar="ACT", parser_class=QueryParser)
        parsers = {name: subparsers.add_parser(name, help=text, description=text) for name, text in _ACTS.items()}
        parsers["add"].add_argument("name")
        parsers["add"].add_argument("query", nargs="+", metavar="QUERY", help="of turns, such as started:<-30d")
        parsers["add"].add_argument("--archive", action="store_true", help="write the turns into a file before")
        parsers["add"].add_argument("--format", choices=retention.ARCHIVE_FORMATS, default="jsonl")
        parsers["add"].add_argument("--folder", type=Path, help="of the files; by default DATA_DIR/archives")
        parsers["remove"].add_argument("name")
        for name in ("preview", "run"):
            parsers[name].add_argument("names", nargs="*", metavar="NAME", help="rules; by default all")
            parsers[name].add_argument("--all", action="store_true", help="name all sessions")
        parsers["run"].add_argument("--dry-run", action="store_true", help="only say what would be deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['act']}")(options)
        except AgentsError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror or error}") from error

    def _add(self, options: dict[str, Any]) -> None:
        text = " ".join(options["query"])
        if options["folder"] and not options["archive"]:
            raise CommandError("--folder: say --archive as well.")
        folder = str(options["folder"].absolute()) if options["folder"] else ""
        rule = StoredRule(options["name"], text, options["format"] if options["archive"] else "", folder)
        try:
            rule = retention.add(rule)
        except QuerySyntax as error:
            raise CommandError(parsing.error_message(text, error)) from error
        self.stdout.write(f"Added '{rule.name}': {describe(retention.parse(rule.query), 'turn')}. {_action(rule)}")
        self._write_preview(rule, options={"all": False})

    def _list(self, options: dict[str, Any]) -> None:
        for rule in retention.rules():
            ran = f"ran {rule.ran_at:%Y-%m-%dT%H:%M:%SZ}" if rule.ran_at else "has not run"
            state = ran if rule.enabled else f"{ran}, switched off"
            self.stdout.write(f"{rule.name}: {rule.query}  ({state})\n  {_action(rule)}")

    def _remove(self, options: dict[str, Any]) -> None:
        retention.remove(options["name"])
        self.stdout.write(f"Removed '{options['name']}'.")

    def _preview(self, options: dict[str, Any]) -> None:
        for rule in self._rules(options):
            self._write_preview(rule, options)

    def _run(self, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            self._preview(options)
            return
        for rule in self._rules(options):
            receipts = running.run(keys.local(), rule)
            turns, sessions = (sum(getattr(receipt, name) for receipt in receipts) for name in ("turns", "sessions"))
            self.stdout.write(
                f"{rule.name}: deleted {_count(turns, 'turn')}, and {_count(sessions, 'session')} left empty."
            )
            self._write_files(receipts)

    def _receipts(self, options: dict[str, Any]) -> None:
        for receipt in retention.last_receipts(MAX_RECEIPTS):
            state = "" if receipt.finished_at else "  (not finished: what is left goes with the next run)"
            self.stdout.write(
                f"{receipt.began_at:%Y-%m-%dT%H:%M:%SZ}  {receipt.rule}: {_count(receipt.turns, 'turn')}, "
                f"{_count(receipt.sessions, 'session')}{state}"
            )
            self._write_files([receipt])

    def _rules(self, options: dict[str, Any]) -> list[StoredRule]:
        """Return the rules that are named, or all that are switched on."""
        if options["names"]:
            return [retention.get(name) for name in options["names"]]
        rules = [rule for rule in retention.rules() if rule.enabled]
        if not rules:
            self.stdout.write("There are no rules.")
        return rules

    def _write_preview(self, rule: StoredRule, options: dict[str, Any]) -> None:
        preview = retention.preview(keys.local(), retention.parse(rule.query))
        spared = f" {preview.spared:,} run or wait, and stay." if preview.spared else ""
        turns, sessions = _count(preview.turns, "turn"), _count(len(preview.sessions), "session")
        self.stdout.write(f"{rule.name}: now {turns} would go, and {sessions} with all that is inside.{spared}")
        named = list(preview.sessions.items())[: None if options["all"] else MAX_SESSIONS]
        for key, count in named:
            self.stdout.write(f"  session {ids.public(ids.Kind.SESSION, key)}  {_count(count, 'turn')}")
        if len(named) < len(preview.sessions):
            self.stdout.write(f"  and {len(preview.sessions) - len(named):,} more (--all names them)")

    def _write_files(self, receipts: list[StoredReceipt]) -> None:
        for receipt in receipts:
            if receipt.file:
                file = f"{receipt.file} ({receipt.bytes:,} bytes, sha256 {receipt.sha256})"
                self.stdout.write(f"  {_count(receipt.archived, 'turn')} in {file}")


def _action(rule: StoredRule) -> str:
    if not rule.archives_as:
        return "These turns are deleted."
    return f"These turns are written into {running.archive_folder(rule)} as {rule.archives_as}, then deleted."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
