"""``manage.py logs``: the log from a terminal, under the same queries as everywhere.

It acts as the local admin, and works while a server runs: what is written goes in small transactions, and
the server notices.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from django.core.management.base import BaseCommand, CommandError

from agents.base import ids
from agents.base.errors import AgentsError
from agents.base.store import changes, keys
from agents.base.subjects import is_installed
from agents.logs.api import exports
from agents.logs.store import bulk, numbers, rows
from agents.logs.store.bulk import BulkResult
from agents.logs.store.listing import page
from agents.logs.wire.export import encoder
from agents.query.describe import describe
from agents.query.tree import Level, Query
from agents.record.schemas.tags import TagNames
from agents.record.store import reindexing
from agents.server.command_line import parsing, tailing
from agents.server.command_line.parsing import LEVELS, QueryParser
from agents.uikit import format


class Command(BaseCommand):
    help = "Look into the log, follow it, export, import, tag and delete what a query selects, index it anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT", parser_class=QueryParser)
        made = {name: acts.add_parser(name, help=words, description=words) for name, words in _acts().items()}
        for name in made:
            if name not in ("reindex", "import"):
                _add_query(made[name])
        made["list"].add_argument("--limit", type=int, default=50)
        made["list"].add_argument("--format", choices=("table", "jsonl", "csv"), default="table")
        for name in ("list", "stats", "tail"):
            made[name].add_argument("--json", action="store_true", help="lines of JSON")
        _add_export(made["export"])
        made["delete"].add_argument("--yes", action="store_true", help="do not ask")
        made["tag"].add_argument("changes", nargs="+", metavar="+TAG|-TAG", help="tags to put on (+) or take away (-)")
        made["stats"].add_argument("--by", default="", help="group by one or two fields, such as agent,model")
        made["tail"].add_argument("--last", type=int, default=10, help="rows to begin with")
        made["tail"].add_argument("--limit", type=int, default=0, help="stop after so many rows")
        if "import" in made:
            from agents.server.command_line import importing

            importing.add_arguments(made["import"])
        made["reindex"].add_argument("--after", default="", help="go on behind this turn, as told when it was stopped")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['act']}")(options)
        except AgentsError as error:
            raise CommandError(error.message) from error

    # ------------------------------------------------------------------------------------- reading

    def _list(self, options: dict[str, Any]) -> None:
        query = _query(options)
        found = page(keys.local(), query, limit=min(max(options["limit"], 1), 10_000))
        self._print(query.level, rows.of(query.level, found.keys), "jsonl" if options["json"] else options["format"])

    def _print(self, level: Level, found: list[Any], form: str) -> None:
        if form == "table":
            for row in found:
                self.stdout.write(_line(level, row))
            return
        made = encoder("csv" if form == "csv" else "jsonl", level)
        text = (made.head + made.encode(found)).decode()
        self.stdout.write(text, ending="")

    def _stats(self, options: dict[str, Any]) -> None:
        query, by = _query(options), [name for name in options["by"].split(",") if name]
        if by:
            for group in numbers.groups(keys.local(), query, by).groups:
                self._numbers(" · ".join(group.labels) or "-", group.stats, options["json"])
        else:
            self._numbers(describe(query, query.level), numbers.stats(keys.local(), query), options["json"])

    def _numbers(self, title: str, found: Any, as_json: bool) -> None:
        if as_json:
            named = {"of": title, **found.model_dump(mode="json")}
            self.stdout.write(msgspec.json.encode(named).decode())
            return
        self.stdout.write(self.style.MIGRATE_HEADING(title))
        for name, value in _figures(found):
            self.stdout.write(f"  {name:<14}{value}")

    def _tail(self, options: dict[str, Any]) -> None:
        query, seq = _query(options), changes.latest()
        form = "jsonl" if options["json"] else "table"
        begun = tailing.last(keys.local(), query, options["last"])
        self._print(query.level, begun, form)
        left = options["limit"] - len(begun) if options["limit"] else sys.maxsize
        with suppress(KeyboardInterrupt):
            for row in tailing.follow(keys.local(), query, seq) if left > 0 else ():
                self._print(query.level, [row], form)
                self.stdout.flush()
                left -= 1
                if left <= 0:
                    return

    def _export(self, options: dict[str, Any]) -> None:
        given = {name: str(options[name] or "") for name in ("query", "format", "fields", "whole", "bom", "tz")}
        _query(options)  # says where it is wrong, with a mark under it
        asked = exports.read_request(keys.local(), options["level"], {**given, "q": " ".join(options["query"])})
        if options["out"] == "-":
            self._to_stdout(asked)
            return
        with Path(options["out"]).open("wb") as file:
            _write(asked, file)
        self.stderr.write(f"Wrote {Path(options['out']).stat().st_size:,} bytes to {options['out']}.")

    def _to_stdout(self, asked: exports.ExportRequest) -> None:
        for part in exports.sync_chunks(asked):
            self.stdout.write(part.decode(), ending="")

    # ------------------------------------------------------------------------------------- writing

    def _import(self, options: dict[str, Any]) -> None:
        from agents.server.command_line import importing

        asked = importing.wanted(options)
        report = importing.run(asked, importing.Progress(self.stderr))
        for line in importing.sentences(report):
            self.stdout.write(line)

    def _tag(self, options: dict[str, Any]) -> None:
        add, remove = _changes(options["changes"])
        outcome = bulk.to_all(keys.local(), _query(options), bulk.tag_action(add, remove), self._told)
        self._said("Tagged", outcome)

    def _delete(self, options: dict[str, Any]) -> None:
        query = _query(options)
        count = numbers.stats(keys.local(), query).count
        if not count:
            self.stdout.write("Nothing matches.")
            return
        if not options["yes"]:
            self.stdout.write(f"This deletes {count:,}: {describe(query, query.level)}.")
            if input("Type 'delete' to go on: ").strip() != "delete":
                raise CommandError("Nothing was deleted.")
        self._said("Deleted", bulk.to_all(keys.local(), query, bulk.delete, self._told))

    def _told(self, outcome: BulkResult) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{outcome.done:,}", ending="")

    def _said(self, done: str, outcome: BulkResult) -> None:
        skipped = f" {outcome.running:,} left alone: they run." if outcome.running else ""
        self.stdout.write(f"{done} {outcome.done:,}.{skipped}")

    def _reindex(self, options: dict[str, Any]) -> None:
        after = ids.parse(ids.Kind.TURN, options["after"]) if options["after"] else 0
        if after is None:
            raise CommandError(f"--after: '{options['after'][:80]}' is not the id of a turn.")
        total, place = reindexing.count(after), after
        try:
            for piece in reindexing.run(after):
                place, done = piece
                if options["verbosity"]:
                    self.stderr.write(f"\r{done:,} of {total:,}", ending="\n" if done >= total else "")
        except KeyboardInterrupt:
            words = f"\nStopped. Go on with: manage.py logs reindex --after {ids.public(ids.Kind.TURN, place)}"
            raise CommandError(words if place else "\nStopped.") from None
        self.stdout.write("The search documents are new.")


_ACTS = {
    "list": "the newest rows",
    "export": "all rows as a file",
    "import": "take in files of what agents did elsewhere, and whole turns that were exported",
    "delete": "delete turns, or sessions, for good",
    "tag": "put tags on, or take them away",
    "stats": "counts, percentiles, sums",
    "tail": "the last rows, and each that comes or changes",
    "reindex": "make the search documents anew",
}


def _acts() -> dict[str, str]:
    """Without telemetry nothing is imported."""
    return {name: words for name, words in _ACTS.items() if name != "import" or is_installed("telemetry")}


_KINDS = {"turn": ids.Kind.TURN, "session": ids.Kind.SESSION, "step": ids.Kind.STEP}


def _add_query(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs=1 if parser.prog.endswith(" tag") else "*", metavar="QUERY", default=[])
    parser.add_argument("--level", choices=LEVELS, default="turn", help="what the rows are")
    parser.add_argument("--tz", default="UTC", help="the zone of the days in the query")


def _add_export(parser: ArgumentParser) -> None:
    parser.add_argument("--format", default="jsonl", help="jsonl or csv, or otlp (turns as OpenTelemetry's spans)")
    parser.add_argument("--out", default="-", help="a file; by default what is printed")
    parser.add_argument("--fields", default="", help="names with commas between")
    parser.add_argument("--whole", action="store_true", help="each turn with all of its steps (jsonl)")
    parser.add_argument("--bom", action="store_true", help="with a byte order mark (csv)")


def _query(options: dict[str, Any]) -> Query:
    return parsing.read(" ".join(options["query"]), options["level"], options["tz"])


def _changes(given: list[str]) -> tuple[list[str], list[str]]:
    """The tags to put on, and those to take away."""
    wrong = next((each for each in given if each[:1] not in "+-" or not each[1:].strip()), None)
    if wrong is not None:
        raise CommandError(f"'{wrong[:80]}': write +tag to put a tag on, -tag to take it away.")
    try:
        names = TagNames(tags=[each[1:] for each in given]).tags
    except ValueError as error:
        raise CommandError("A tag is a text of at most 100 characters on one line.") from error
    signs = [each[0] for each in given]
    pairs = list(zip(signs, names, strict=True))
    return [name for sign, name in pairs if sign == "+"], [name for sign, name in pairs if sign == "-"]


def _write(asked: exports.ExportRequest, file: BinaryIO) -> None:
    for part in exports.sync_chunks(asked):
        file.write(part)


def _line(level: Level, row: Any) -> str:
    """A row on one line: when, how it ended, how long it took, whose it is, what was said."""
    said = row.last_turn if level == "session" else row
    words = " ".join(f"{said.input_preview} → {said.output_preview}".split()) if said else ""
    who = row.name if level == "session" else getattr(row, "agent_name", "") or row.model
    moment = format.iso(row.started_at)[:19].replace("T", " ")
    took = format.duration(getattr(row, "duration_ms", None))
    public = row.id if level == "response" else ids.public(_KINDS[level], row.id)
    return f"{public}  {moment}  {row.status or '-':<14}{took:>8}  {who[:24]:<24}  {_printable(words)[:120]}"


def _printable(text: str) -> str:
    """What models and users say must not steer the terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _figures(found: Any) -> list[tuple[str, str]]:
    """The numbers of a sum, as they are read."""
    shown = [(name, f"{getattr(found, name):,}") for name in ("count", "completed", "failed", "stopped", "live")]
    if found.failure_rate is not None:
        shown.append(("failure rate", f"{found.failure_rate:.1%}"))
    for name, each in (("duration", found.duration_ms), ("first token", found.ttft_ms)):
        if each.count:
            times = (format.duration(value) for value in (each.p50, each.p95, each.p99))
            shown.append((name, " / ".join(times) + "  (p50 / p95 / p99)"))
    shown.append(("tokens", f"{found.tokens.total_tokens:,}"))
    shown += [("cost", f"${found.cost_usd:,.4f}")] if found.cost_usd is not None else []
    return [*shown, ("steps", f"{found.steps:,}"), ("errors", f"{found.errors:,}")]
