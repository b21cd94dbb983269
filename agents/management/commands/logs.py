"""``turnlog logs``: queries and changes the log from a terminal, with the usual query language.

It acts as the local admin, and works while a server runs: it writes in small transactions, and the server follows
the change feed.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from django.core.management.base import BaseCommand, CommandError
from django.core.management.color import Style, no_style

from agents.base import ids
from agents.base.errors import AgentsError
from agents.base.store import changes, keys
from agents.base.subjects import is_installed
from agents.logs.runner import export_requests
from agents.logs.schemas.sorting import SORT_FIELDS, read_order
from agents.logs.store import bulk, listing, numbers, rows
from agents.logs.store.bulk import BulkResult
from agents.logs.wire.export import encoder
from agents.query.describe import describe
from agents.query.tree import Level, Query
from agents.record.schemas.tags import TagNames
from agents.record.store import reindexing
from agents.server.command_line import parsing, showing, tailing
from agents.server.command_line.parsing import LEVELS, QueryParser
from agents.server.command_line.printing import printable
from agents.uikit import format


class Command(BaseCommand):
    help = "Look into the log, follow it, export, import, tag and delete what a query selects, index it anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        subparsers = parser.add_subparsers(dest="act", required=True, metavar="ACT", parser_class=QueryParser)
        parsers = {
            name: subparsers.add_parser(name, help=help_text, description=help_text)
            for name, help_text in _available_acts().items()
        }
        for name in parsers:
            if name not in ("reindex", "import", "show"):
                _add_query(parsers[name])
        parsers["list"].add_argument("--limit", type=int, default=50)
        parsers["list"].add_argument("--format", choices=("table", "jsonl", "csv"), default="table")
        for name in ("list", "stats", "tail"):
            parsers[name].add_argument("--json", action="store_true", help="lines of JSON")
        for name in ("list", "export"):
            parsers[name].add_argument(
                "--sort", default="", help=f"by {', '.join(SORT_FIELDS)}; -cost: the most expensive first"
            )
        _add_export(parsers["export"])
        _add_show(parsers["show"])
        parsers["delete"].add_argument("--yes", action="store_true", help="do not ask")
        parsers["tag"].add_argument(
            "changes", nargs="+", metavar="+TAG|-TAG", help="tags to put on (+) or take away (-)"
        )
        parsers["stats"].add_argument("--by", default="", help="group by one or two fields, such as agent,model")
        parsers["tail"].add_argument("--last", type=int, default=10, help="rows to begin with")
        parsers["tail"].add_argument("--limit", type=int, default=0, help="stop after so many rows")
        if "import" in parsers:
            from agents.server.command_line import importing

            importing.add_arguments(parsers["import"])
        parsers["reindex"].add_argument(
            "--after", default="", help="go on behind this turn, as told when it was stopped"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['act']}")(options)
        except AgentsError as error:
            raise CommandError(error.message) from error

    # ------------------------------------------------------------------------------------- reading

    def _list(self, options: dict[str, Any]) -> None:
        query = _query(options)
        order, limit = read_order(options["sort"]), min(max(options["limit"], 1), 10_000)
        listed = listing.sorted_page(keys.local(), query, order, limit=limit).keys
        self._print(query.level, rows.of(query.level, listed), "jsonl" if options["json"] else options["format"])

    def _print(self, level: Level, row_list: list[Any], form: str) -> None:
        if form == "table":
            for row in row_list:
                self.stdout.write(_line(level, row))
            return
        encoding = encoder("csv" if form == "csv" else "jsonl", level)
        text = (encoding.head + encoding.encode(row_list)).decode()
        self.stdout.write(text, ending="")

    def _show(self, options: dict[str, Any]) -> None:
        target = showing.find(keys.local(), options["id"])
        if options["json"]:
            for encoded in showing.json_lines(keys.local(), target):
                self.stdout.write(encoded.decode(), ending="")
            return
        styles = self._styles(options)
        for line in showing.RecordText(keys.local(), options["full"]).lines(target):
            text = printable(line.text.expandtabs(4))
            self.stdout.write(getattr(styles, line.style)(text) if line.style else text)

    def _styles(self, options: dict[str, Any]) -> Style:
        """Return the colours of a terminal; none elsewhere, nor where they are not wanted (no-color.org)."""
        is_wanted = options["force_color"] or (self.stdout.isatty() and not os.environ.get("NO_COLOR"))
        return self.style if is_wanted else no_style()

    def _stats(self, options: dict[str, Any]) -> None:
        query, by = _query(options), [name for name in options["by"].split(",") if name]
        if by:
            for group in numbers.groups(keys.local(), query, by).groups:
                self._print_numbers(" · ".join(group.labels) or "-", group.stats, options["json"])
        else:
            self._print_numbers(describe(query, query.level), numbers.stats(keys.local(), query), options["json"])

    def _print_numbers(self, title: str, stats: Any, as_json: bool) -> None:
        if as_json:
            fields = {"of": title, **stats.model_dump(mode="json")}
            self.stdout.write(msgspec.json.encode(fields).decode())
            return
        self.stdout.write(self.style.MIGRATE_HEADING(title))
        for name, value in _figures(stats):
            self.stdout.write(f"  {name:<14}{value}")

    def _tail(self, options: dict[str, Any]) -> None:
        query, seq = _query(options), changes.latest()
        form = "jsonl" if options["json"] else "table"
        first_rows = tailing.last_rows(keys.local(), query, options["last"])
        self._print(query.level, first_rows, form)
        remaining = options["limit"] - len(first_rows) if options["limit"] else sys.maxsize
        with suppress(KeyboardInterrupt):
            for row in tailing.follow(keys.local(), query, seq) if remaining > 0 else ():
                self._print(query.level, [row], form)
                self.stdout.flush()
                remaining -= 1
                if remaining <= 0:
                    return

    def _export(self, options: dict[str, Any]) -> None:
        params = {
            name: str(options[name] or "") for name in ("query", "format", "fields", "whole", "bom", "tz", "sort")
        }
        _query(options)  # says where it is wrong, with a mark under it
        request = export_requests.read_request(
            keys.local(), options["level"], {**params, "q": " ".join(options["query"])}
        )
        if options["out"] == "-" and request.format == "parquet":
            raise CommandError("parquet is no text: name a file with --out")
        if options["out"] == "-":
            self._write_to_stdout(request)
            return
        with Path(options["out"]).open("wb") as file:
            _write(request, file)
        self.stderr.write(f"Wrote {Path(options['out']).stat().st_size:,} bytes to {options['out']}.")

    def _write_to_stdout(self, request: export_requests.ExportRequest) -> None:
        for part in export_requests.sync_chunks(request):
            self.stdout.write(part.decode(), ending="")

    # ------------------------------------------------------------------------------------- writing

    def _import(self, options: dict[str, Any]) -> None:
        from agents.server.command_line import importing

        import_options = importing.import_options(options)
        report = importing.run(import_options, importing.ImportProgress(self.stderr))
        for line in importing.summary_lines(report):
            self.stdout.write(line)
        if not (report.new or report.known or report.changed):
            raise CommandError(importing.nothing_found(report))

    def _tag(self, options: dict[str, Any]) -> None:
        add, remove = _tag_changes(options["changes"])
        outcome = bulk.to_all(keys.local(), _query(options), bulk.tag_action(add, remove), self._report_progress)
        self._report_outcome("Tagged", outcome)

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
        self._report_outcome("Deleted", bulk.to_all(keys.local(), query, bulk.delete, self._report_progress))

    def _report_progress(self, outcome: BulkResult) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{outcome.done:,}", ending="")

    def _report_outcome(self, verb: str, outcome: BulkResult) -> None:
        skipped = f" {outcome.running:,} left alone: they run." if outcome.running else ""
        self.stdout.write(f"{verb} {outcome.done:,}.{skipped}")

    def _reindex(self, options: dict[str, Any]) -> None:
        after = ids.parse(ids.Kind.TURN, options["after"]) if options["after"] else 0
        if after is None:
            raise CommandError(f"--after: '{options['after'][:80]}' is not the id of a turn.")
        total, turn_key = reindexing.count(after), after
        try:
            for batch in reindexing.run(after):
                turn_key, done = batch
                if options["verbosity"]:
                    self.stderr.write(f"\r{done:,} of {total:,}", ending="\n" if done >= total else "")
        except KeyboardInterrupt:
            message = f"\nStopped. Go on with: turnlog logs reindex --after {ids.public(ids.Kind.TURN, turn_key)}"
            raise CommandError(message if turn_key else "\nStopped.") from None
        self.stdout.write("The search documents are new.")


_ACTS = {
    "list": "the newest rows",
    "show": "one turn, session, response or step by its id, as text",
    "export": "all rows as a file",
    "import": "take in files of what agents did elsewhere, and whole turns that were exported",
    "delete": "delete turns, or sessions, for good",
    "tag": "put tags on, or take them away",
    "stats": "counts, percentiles, sums",
    "tail": "the last rows, and each that comes or changes",
    "reindex": "make the search documents anew",
}


def _available_acts() -> dict[str, str]:
    """Return the acts with their help; ``import`` needs the subject telemetry."""
    return {name: help_text for name, help_text in _ACTS.items() if name != "import" or is_installed("telemetry")}


_KINDS = {"turn": ids.Kind.TURN, "session": ids.Kind.SESSION, "step": ids.Kind.STEP}


def _add_query(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs=1 if parser.prog.endswith(" tag") else "*", metavar="QUERY", default=[])
    parser.add_argument("--level", choices=LEVELS, default="turn", help="what the rows are")
    parser.add_argument("--tz", default="UTC", help="the zone of the days in the query")


def _add_export(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--format", default="jsonl", help="jsonl, csv, parquet; of turns otlp (spans), atif (trajectories)"
    )
    parser.add_argument("--out", default="-", help="a file; by default what is printed")
    parser.add_argument("--fields", default="", help="names with commas between")
    parser.add_argument("--whole", action="store_true", help="each turn with all of its steps (jsonl, parquet)")
    parser.add_argument("--bom", action="store_true", help="with a byte order mark (csv)")


def _add_show(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of a turn, a session, a response or a step, as the API writes it")
    parser.add_argument("--full", action="store_true", help="long texts to their end")
    parser.add_argument("--json", action="store_true", help="the complete record, each turn a line, as exports have it")


def _query(options: dict[str, Any]) -> Query:
    return parsing.parse_query(" ".join(options["query"]), options["level"], options["tz"])


def _tag_changes(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the tags to add and the tags to remove."""
    wrong = next((argument for argument in arguments if argument[:1] not in "+-" or not argument[1:].strip()), None)
    if wrong is not None:
        raise CommandError(f"'{wrong[:80]}': write +tag to put a tag on, -tag to take it away.")
    try:
        names = TagNames(tags=[argument[1:] for argument in arguments]).tags
    except ValueError as error:
        raise CommandError("A tag is a text of at most 100 characters on one line.") from error
    signs = [argument[0] for argument in arguments]
    pairs = list(zip(signs, names, strict=True))
    return [name for sign, name in pairs if sign == "+"], [name for sign, name in pairs if sign == "-"]


def _write(request: export_requests.ExportRequest, file: BinaryIO) -> None:
    for part in export_requests.sync_chunks(request):
        file.write(part)


def _line(level: Level, row: Any) -> str:
    """Format a row as one line: id, start, status, duration, owner and previews of input and output."""
    turn = row.last_turn if level == "session" else row
    preview = " ".join(f"{turn.input_preview} → {turn.output_preview}".split()) if turn else ""
    owner = row.name if level == "session" else getattr(row, "agent_name", "") or row.model
    started = format.iso(row.started_at)[:19].replace("T", " ")
    duration = format.duration(getattr(row, "duration_ms", None))
    public_id = row.id if level == "response" else ids.public(_KINDS[level], row.id)
    texts = f"{printable(owner[:24]):<24}  {printable(preview)[:120]}"
    return f"{public_id}  {started}  {row.status or '-':<14}{duration:>8}  {texts}"


def _figures(stats: Any) -> list[tuple[str, str]]:
    """Return the statistics as pairs of a label and a formatted number."""
    figures = [(name, f"{getattr(stats, name):,}") for name in ("count", "completed", "failed", "stopped", "live")]
    if stats.failure_rate is not None:
        figures.append(("failure rate", f"{stats.failure_rate:.1%}"))
    for name, distribution in (("duration", stats.duration_ms), ("first token", stats.ttft_ms)):
        if distribution.count:
            times = (format.duration(value) for value in (distribution.p50, distribution.p95, distribution.p99))
            figures.append((name, " / ".join(times) + "  (p50 / p95 / p99)"))
    figures.append(("tokens", f"{stats.tokens.total_tokens:,}"))
    figures += [("cost", f"${stats.cost_usd:,.4f}")] if stats.cost_usd is not None else []
    return [*figures, ("steps", f"{stats.steps:,}"), ("errors", f"{stats.errors:,}")]
