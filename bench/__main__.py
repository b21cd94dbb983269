"""``python -m bench``: start what is needed, run the cases, print the table.

Ends with 1 when a case failed its checks; a missed target is printed, not an error.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import aiohttp

from bench import beside, disk, recorded
from bench.cases import CASES, LONG, Case
from bench.faults import Broken, Missing, Skipped
from bench.figures import Row
from bench.processes import memory_mb
from bench.report import Report, merged, replace_table
from bench.stage import Stage
from bench.staging import MAIN, staged
from bench.yardstick import Pace

README = Path(__file__).with_name("README.md")
ROUNDS = 5
"""Of comparisons, and of what is recorded."""
ALL = CASES | LONG
FAILURES = (Broken, aiohttp.ClientError, OSError, LookupError, TypeError, ValueError)
"""What a server that misbehaves can raise in a case: refusals, lost connections, timeouts, JSON of
another shape."""


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the server under load.")
    parser.add_argument("--only", action="append", choices=ALL, metavar="NAME", help=f"of {', '.join(ALL)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes: does everything work?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--postgresql", action="store_true", help="our server keeps its data in PostgreSQL")
    parser.add_argument("--minutes", type=float, default=60.0, metavar="N", help="how long `soak` goes on")
    parser.add_argument("--pin", action="store_true", help="the server on one core, client and endpoint on another")
    parser.add_argument("--rounds", type=int, metavar="N", help="run all of it so often, and show the medians")
    parser.add_argument("--record", action="store_true", help="keep the figures' ratios in bench/recorded.json")
    parser.add_argument("--write-readme", action="store_true", help="put the table of a full run into bench/README.md")
    other = parser.add_argument_group("another server, which must reach the endpoint by itself")
    other.add_argument("--base", metavar="URL", help="measure this server instead of starting our own")
    other.add_argument("--beside", action="store_true", help="and our own in turn with it, on the same core")
    other.add_argument("--start", metavar="COMMAND", help="how to start it, for each round with a new folder, STORE")
    other.add_argument("--endpoint-port", type=int, default=0, help="where the model endpoint listens (any free port)")
    other.add_argument("--prefix", default="/v1", help="before /agents")
    other.add_argument("--responses-prefix", default="", help="before /responses, if another")
    other.add_argument("--model-prefix", default="", help="before the models' names, such as fake/")
    other.add_argument("--key", default="", help="sent as a Bearer token")
    other.add_argument("--server-pid", type=int, help="its process on this machine, for CPU figures")
    options = parser.parse_args(argv)
    if options.write_readme and (options.quick or options.only or options.base or options.postgresql):
        parser.error("--write-readme takes a full run of our own server on SQLite")
    if options.postgresql and options.base and not options.beside:
        parser.error("--postgresql is for our own server")
    if options.beside and not options.base:
        parser.error("--beside needs the other server: --base URL")
    if options.record and (options.quick or options.base or options.postgresql):
        parser.error("--record takes whole cases of our own server on SQLite")
    options.pin |= options.beside or options.record
    several = (options.beside or options.record) and not options.quick
    options.rounds = options.rounds or (ROUNDS if several else 1)
    if options.record and options.rounds < recorded.FEWEST:
        parser.error(f"--record takes {recorded.FEWEST} rounds or more, to know how far a figure moves")
    if options.server_pid and not Path(f"/proc/{options.server_pid}").exists():
        parser.error(f"--server-pid: there is no process {options.server_pid}")
    return options


async def run(options: argparse.Namespace, names: Sequence[str]) -> list[Report]:
    """Run the cases, one after the other, in the order of the table: a report of each server."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        ours = [] if options.base and not options.beside else ["Our server" + " on PostgreSQL" * options.postgresql]
        speed = disk.fdatasync(folder)
        servers = [*ours, options.base] if options.base else ours
        reports = [Report(server, speed, pinned=options.pin, quick=options.quick) for server in servers]
        try:
            async with staged(options, folder) as stages:
                await measure_all(names, list(zip(stages, reports, strict=True)))
        except (Broken, aiohttp.ClientError) as error:
            reports[0].failed["start and stop"] = str(error)
    return reports


async def measure_all(names: Iterable[str], pairs: Sequence[tuple[Stage, Report]]) -> None:
    """Each case on one server after the other."""
    for name in names:
        for stage, report in pairs:
            print(f"… {name}" + f", {report.server}" * (len(pairs) > 1), file=sys.stderr, flush=True)
            await measure(name, ALL[name], stage, report)
    for stage, report in pairs:
        if stage.server_pid:
            report.rows += _memory(stage.server_pid)
        if stage.launcher and report.failed:
            print(stage.launcher.said(MAIN), file=sys.stderr)


async def measure(name: str, case: Case, stage: Stage, report: Report) -> None:
    """One case into the report: its rows, or why there are none."""
    pace = Pace(stage.core)
    try:
        async for row in case(stage):
            slowness = pace.meanwhile()
            report.rows.append(replace(row, slowness=slowness.cpu if row.is_cpu else slowness.wall))
    except Skipped as reason:
        report.skipped[name] = str(reason)
    except Missing as reason:
        # our own server has every route
        (report.failed if stage.launcher else report.skipped)[name] = str(reason)
    except FAILURES as error:
        report.failed[name] = f"{type(error).__name__}: {error}"


def _memory(pid: int) -> list[Row]:
    peak = f"peak {memory_mb(pid, 'VmHWM'):.0f} MB"
    return [Row("server after all of this", "resident memory", memory_mb(pid), "MB", note=peak)]


def main() -> int:
    options = arguments()
    names = options.only or (beside.CASES if options.beside else list(CASES))
    rounds = [asyncio.run(run(options, names)) for _ in range(options.rounds)]
    if options.beside:
        print(beside.markdown([(ours, theirs) for ours, theirs in rounds]))
        return int(any(report.failed for reports in rounds for report in reports))
    report = merged([report for [report] in rounds])
    print(report.markdown())
    if options.json:
        options.json.write_text(report.as_json())
    if options.write_readme and report.failed:
        print("bench: a case failed, so the README keeps its table", file=sys.stderr)
    elif options.write_readme:
        replace_table(README, report.markdown())
    tell(options, rounds)
    return 1 if report.failed else 0


def tell(options: argparse.Namespace, rounds: Sequence[Sequence[Report]]) -> None:
    """Print what has become worse since it was recorded, or record it."""
    reports = [report for [report] in rounds]
    whole = not options.only
    if options.record:
        recorded.record(reports)
        print(f"\nRecorded in {recorded.PATH.name}.")
    elif options.base or options.postgresql:
        return
    elif options.quick or not options.pin:
        print("\nNot compared with what is recorded: that takes --pin, and whole cases.")
    else:
        rows = merged(reports).rows
        print("", *recorded.compared(rows, recorded.read(), whole=whole), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
