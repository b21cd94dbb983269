"""``python -m bench``: start what is needed, run the cases, print the table.

Ends with 1 when a case failed its checks; a missed target is printed, not an error.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp

from bench import disk, yardstick
from bench.cases import CASES, LONG, Case
from bench.children import Child
from bench.client import Api
from bench.faults import Broken, Missing, Skipped
from bench.figures import Row
from bench.processes import memory_mb
from bench.report import Report, replace_table
from bench.server import KEPT, Launcher
from bench.stage import Endpoint, Stage

README = Path(__file__).with_name("README.md")
MAIN = "main"
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
    parser.add_argument("--write-readme", action="store_true", help="put the table of a full run into bench/README.md")
    other = parser.add_argument_group("another server, which must reach the endpoint by itself")
    other.add_argument("--base", metavar="URL", help="measure this server instead of starting our own")
    other.add_argument("--endpoint-port", type=int, default=0, help="where the model endpoint listens (any free port)")
    other.add_argument("--prefix", default="/v1", help="before /agents")
    other.add_argument("--model-prefix", default="", help="before the models' names, such as fake/")
    other.add_argument("--key", default="", help="sent as a Bearer token")
    other.add_argument("--server-pid", type=int, help="its process on this machine, for CPU figures")
    options = parser.parse_args(argv)
    if options.write_readme and (options.quick or options.only or options.base or options.postgresql):
        parser.error("--write-readme takes a full run of our own server on SQLite")
    if options.postgresql and options.base:
        parser.error("--postgresql is for our own server")
    if options.server_pid and not Path(f"/proc/{options.server_pid}").exists():
        parser.error(f"--server-pid: there is no process {options.server_pid}")
    return options


async def run(options: argparse.Namespace) -> Report:
    """Run the chosen cases, one after the other, in the order of the table."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        name_of = options.base or ("Our server on PostgreSQL" if options.postgresql else "Our server")
        slow = yardstick.slowness()
        report = Report(name_of, disk.fdatasync(folder), slow, options.pin, options.quick)
        try:
            async with staged(options, folder) as stage:
                await measure_all(options.only or CASES, stage, report)
        except (Broken, aiohttp.ClientError) as error:
            report.failed["start and stop"] = str(error)
    return report


async def measure_all(names: Iterable[str], stage: Stage, report: Report) -> None:
    for name in names:
        print(f"… {name}", file=sys.stderr, flush=True)
        await measure(name, ALL[name], stage, report)
    if stage.server_pid:
        report.rows += _memory(stage.server_pid)
    if stage.launcher and report.failed:
        print(stage.launcher.said(MAIN), file=sys.stderr)


@asynccontextmanager
async def staged(options: argparse.Namespace, folder: Path) -> AsyncIterator[Stage]:
    """The endpoint, the client and the server, for as long as the block lasts."""
    server_core, client_core = _cores() if options.pin else (None, None)
    if client_core is not None:
        os.sched_setaffinity(0, {client_core})
    headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(_endpoint(folder, options.endpoint_port))
        timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
        connector = aiohttp.TCPConnector(limit=0)
        http = await stack.enter_async_context(
            aiohttp.ClientSession(timeout=timeout, connector=connector, headers=headers)
        )
        base, pid, launcher = options.base, options.server_pid, None
        if base is None:
            launcher = Launcher(folder, http, endpoint.base, server_core, options.postgresql)
            stack.callback(launcher.databases.close)
            server = await stack.enter_async_context(launcher.run(MAIN))
            base, pid = server.base, server.pid
        api = Api(http, base, prefix=options.prefix, model_prefix=options.model_prefix)
        yield Stage(api, endpoint, pid, launcher, options.quick, options.minutes)


@asynccontextmanager
async def _endpoint(folder: Path, port: int) -> AsyncIterator[Endpoint]:
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    command = [sys.executable, "-m", "bench.endpoint", "--port", str(port)]
    child = Child(command, folder / "endpoint.log", env=env)
    try:
        yield Endpoint(await child.says(r"model endpoint (http://[^/]+)/v1", within_s=20), child.pid)
    finally:
        await child.stop()


async def measure(name: str, case: Case, stage: Stage, report: Report) -> None:
    """One case into the report: its rows, or why there are none."""
    try:
        async for row in case(stage):
            report.rows.append(row)
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


def _cores() -> tuple[int, int]:
    """(the server's, the client's and the endpoint's)."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("bench: --pin needs two cores")
    return cores[0], cores[1]


def main() -> int:
    options = arguments()
    report = asyncio.run(run(options))
    print(report.markdown())
    if options.json:
        options.json.write_text(report.as_json())
    if options.write_readme and report.failed:
        print("bench: a case failed, so the README keeps its table", file=sys.stderr)
    elif options.write_readme:
        replace_table(README, report.markdown())
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
