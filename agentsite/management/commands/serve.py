"""``turnlog serve``: runs the whole server in one process."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import re
import resource
import signal
import socket
import sqlite3
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import DatabaseError

from agents.base.store import failures, fingerprints
from agents.base.store.claims import ClaimKind, claimed
from agents.base.subjects import is_installed
from agents.server.checks import SETTINGS
from agents.server.demo import is_needed
from agentsite import data_versions, sqlite, staticfiles

log = logging.getLogger(__name__)

MAX_DESCRIPTORS = 65_536
ENDING = {signal.SIGINT, signal.SIGTERM}
"""Signals that ask a process to end."""
PR_SET_PDEATHSIG = 1
"""Linux's number for: send me a signal when my parent ends."""
OLDEST_GRPCIO = (1, 84)
"""Before it, a packed message was unpacked whole, and measured after that: a few kilobytes could fill the memory."""
ONLY_HELP = (
    "do one part of the work, where other processes of the same PostgreSQL do the rest: answer requests, run turns, or "
    "take in reports and files and do what is due from time to time"
)


class Command(BaseCommand):
    help = "Migrate, load the demo on the first start, and serve HTTP, SSE, WebSocket and the pages."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.HOST)
        parser.add_argument("--port", type=int, default=settings.PORT, help="0 takes any free port")
        parser.add_argument("--only", choices=("web", "run", "ingest"), default=settings.ONLY, help=ONLY_HELP)
        parser.add_argument("--no-demo", action="store_true", help="start with an empty log, as with DEMO=false")
        parser.add_argument(
            "--no-migrate", action="store_true", help="leave the tables to `turnlog migrate`, as with MIGRATE=false"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["host"] != settings.HOST:
            raise CommandError("Set the address by HOST, so that access follows it.")
        self.check(tags=[SETTINGS])
        if options["only"] and connection.vendor == "sqlite":
            raise CommandError("--only is for several processes on one PostgreSQL: set DATABASE_URL.")
        listening = self._bind(options["host"], options["port"])
        grpc_address = self._grpc_address(listening)
        migrates, demo = settings.MIGRATE and not options["no_migrate"], settings.DEMO and not options["no_demo"]
        if not self._is_prepared(migrates=migrates, demo=demo):
            run_in_child(lambda: self._prepare(migrates=migrates, demo=demo))
        address = base_url(*listening.getsockname()[:2])
        url = settings.PUBLIC_URL or address
        with failing_in_words():
            greeting = welcome(url, self._admin_link(url), grpc_address)
        if settings.PUBLIC_URL:
            greeting = f"Address   {address}\n{greeting}"
        connection.close()
        self._only = options["only"]
        self._serve(listening, greeting, grpc_address)

    @staticmethod
    def _admin_link(url: str) -> str | None:
        if not is_installed("identity"):
            return None
        from agents.identity.store import accounts

        with claimed(ClaimKind.START):  # the link is of an account that the first start makes
            return accounts.admin_link(url)

    def _grpc_address(self, listening: socket.socket) -> tuple[str, int] | None:
        """Return where OTLP is spoken over gRPC: at the host of HTTP. Raises CommandError where it cannot be."""
        if not settings.OTLP_GRPC_PORT:
            return None
        refuse_missing_grpc()
        host = listening.getsockname()[0]
        # to say so before anything is done; the library takes the port itself
        self._bind(host, settings.OTLP_GRPC_PORT, "OTLP_GRPC_PORT").close()
        return host, settings.OTLP_GRPC_PORT

    @staticmethod
    def _bind(host: str, port: int, setting: str = "PORT") -> socket.socket:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            reason = f"Cannot listen on {host}:{port}: {error.strerror}. Set {setting} to another."
            raise CommandError(reason) from error
        listening.listen(1024)
        listening.setblocking(False)
        return listening

    @staticmethod
    def _is_prepared(*, migrates: bool, demo: bool) -> bool:
        """Create the database's file, and return whether a start before this one has done all that `_prepare` does.
        The connection is closed again, for a child to be forked. Raises CommandError."""
        with failing_in_words():
            sqlite.create_file(settings.DATABASES["default"])
            for path in sqlite.make_private(settings.DATABASES["default"]):
                log.warning("%s may be open to others of this machine, and its rights cannot be changed", path)
            with claimed(ClaimKind.START):  # what another process has begun, it ends first
                is_prepared = (
                    data_versions.is_current(by_this_version=migrates)
                    and staticfiles.is_collected()
                    and not (demo and is_needed())
                )
                if is_prepared:
                    refuse_other_secret()
            connection.close()
        return is_prepared

    def _prepare(self, *, migrates: bool, demo: bool) -> None:
        """Create tables, static files and the demo, as far as they are missing."""
        gc.enable()
        with failing_in_words():
            self._prepare_database(migrates=migrates)
            staticfiles.collect()
            if demo:
                call_command("demo", if_empty=True)

    @staticmethod
    def _prepare_database(*, migrates: bool) -> None:
        if migrates:
            call_command("migrate", verbosity=0)
        else:
            executor = MigrationExecutor(connection)
            data_versions.refuse_newer(executor)
            refuse_missing_migrations(executor)
        refuse_other_secret()

    def _serve(self, listening: socket.socket, greeting: str, grpc_address: tuple[str, int] | None) -> None:
        # the reactor is installed by this import, so it comes as late as possible
        from agents.loop.roles import EVERYTHING, ROLES
        from agentsite.lifecycle import Lifecycle
        from agentsite.server import AgentServer, ServerPhases

        from agentsite.asgi import application  # isort: skip

        import_module(settings.ROOT_URLCONF)  # what is wrong with it ends the start, and no request waits for it
        raise_descriptor_limit()
        lifecycle = Lifecycle(ROLES.get(self._only, EVERYTHING), _grpc_server(grpc_address))
        server = AgentServer(
            application,
            listening,
            caps=self._caps(),
            phases=ServerPhases(
                lambda: self._start(lifecycle, greeting), lifecycle.announce, lifecycle.drain, lifecycle.stop
            ),
        )
        server.run()
        if server.failure is not None:
            raise CommandError(f"The server did not start: {server.failure}")

    @staticmethod
    def _caps() -> Any:
        """Return the body limits of the paths."""
        from agents.server.api.urls import routes
        from agentsite.server import BodyLimits

        def paths_taking(takes: str) -> frozenset[bytes]:
            paths = [route for route, view in routes() if view.takes == takes]
            return frozenset(f"{prefix}{path}".encode() for path in paths for prefix in ("", settings.URL_PREFIX))

        body, upload, telemetry = (
            size * 2**20 for size in (settings.MAX_BODY_MB, settings.MAX_UPLOAD_MB, settings.MAX_OTLP_MB)
        )
        uploads = paths_taking("upload")
        if is_installed("telemetry"):
            uploads |= {b"/import/", f"{settings.URL_PREFIX}/import/".encode()}
        # a parameter of a path is one of its parts
        patterns = (re.sub(rb"<[^>]+>", rb"[^/]+", re.escape(path)) for path in sorted(uploads))
        return BodyLimits(body, upload, re.compile(b"|".join(patterns)), telemetry, paths_taking("report"))

    async def _start(self, lifecycle: Any, greeting: str) -> None:
        await lifecycle.start()
        release_memory()
        self.stdout.write(greeting)
        self.stdout.flush()


def _grpc_server(address: tuple[str, int] | None) -> Any:
    if address is None:
        return None
    from agentsite.grpc_server import GrpcServer  # grpcio is an extra

    return GrpcServer(*address)


def refuse_missing_grpc() -> None:
    """Raise CommandError where this installation cannot speak OTLP over gRPC."""
    if not is_installed("telemetry"):
        raise CommandError("OTLP_GRPC_PORT needs the subject telemetry, which INSTALLED_SUBJECTS leaves out.")
    try:
        import grpc
    except ImportError as error:
        raise CommandError("OTLP_GRPC_PORT needs grpcio, which is an extra: pip install 'turnlog[grpc]'.") from error
    if tuple(int(part) for part in grpc.__version__.split(".")[:2]) < OLDEST_GRPCIO:
        needed = f"grpcio {'.'.join(map(str, OLDEST_GRPCIO))} or later"
        raise CommandError(f"OTLP_GRPC_PORT needs {needed}, not {grpc.__version__}: pip install 'turnlog[grpc]'.")


@contextmanager
def failing_in_words() -> Iterator[None]:
    """Raise CommandError for what fails for want of the database or of room on a disk."""
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        reason = str(error).strip().splitlines()[0]
        raise CommandError(f"Cannot use the database (DATABASE_URL): {reason}") from error
    except OSError as error:
        if failures.classify(error) is None:
            raise
        raise CommandError(f"Cannot write {error.filename or 'a file'}: {error.strerror}") from error


def refuse_missing_migrations(executor: MigrationExecutor) -> None:
    """Raise CommandError where the database is not migrated to this version."""
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        first = missing[0][0]
        raise CommandError(
            f"The database (DATABASE_URL) is not ready for this version: it lacks {len(missing)} migrations, the first "
            f"is {first.app_label}.{first.name}. Run `turnlog migrate`, or start without --no-migrate (MIGRATE=true)."
        )


def refuse_other_secret() -> None:
    """Raise CommandError where the ids in the database were made with another secret than this server has: it would
    find none of them."""
    if not fingerprints.is_same_secret():
        raise CommandError(
            "The database (DATABASE_URL) was made with another ID_SECRET: every link and id given out before would be "
            "void. Set ID_SECRET, or SECRET_KEY where there is no ID_SECRET, to that of the server which made it; if "
            "that had neither, it is in the file `secret` of its DATA_DIR. If it is lost, `turnlog migrate "
            "--accept-id-secret` takes the present one."
        )


def run_in_child(work: Callable[[], None]) -> None:
    """Do work of the start in a forked child where the system can (Linux), so that its memory is freed with it. The
    child ends with this process, however that ends.

    This process must not have started a thread or opened the database before. Raises SystemExit if the work fails."""
    if sys.platform != "linux":
        return work()
    parent = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until the child has its own ways
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return sys.exit(status) if status else None
    status = 1
    try:
        _end_with(parent)
        work()
        status = 0
    except CommandError as error:
        sys.stderr.write(f"CommandError: {error}\n")
    except BaseException:  # noqa: BLE001 - printed here; the child must end here, whatever was raised
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _end_with(parent: int) -> None:
    """Let this process be ended once its parent is gone. Of what ends both, such as Ctrl-C, the parent alone speaks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def raise_descriptor_limit() -> None:
    """Raise the limit of file descriptors: each stream and socket needs one, and a shell often sets a limit of a
    thousand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with suppress(ValueError, OSError):  # some systems report a limit that they do not accept
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def release_memory() -> None:
    """Return the memory of the start (migrations, the demo, compiling modules) to the system, where its
    allocator can (glibc): an idle server holds twenty megabytes less. The objects that are there stay until the end and
    are excluded from garbage collection, which begins only now: to look at them once takes as long as a twentieth of
    the start, and a few hundred of them are garbage."""
    gc.freeze()
    gc.enable()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def base_url(host: str, port: int) -> str:
    """Return the URL of this server on its own machine."""
    name = "localhost" if settings.LOOPBACK else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def welcome(url: str, admin_link: str | None, grpc_address: tuple[str, int] | None = None) -> str:
    """Return the text printed at the start: URLs, a first request, and a link to become administrator."""
    models = "the built-in scripted model" if not settings.OPENAI_BASE_URL else settings.OPENAI_BASE_URL
    return (
        f"Logs      {url}/logs/\n"
        f"API       {url}/v1 (docs: {url}/docs/)\n"
        + (f"OTLP      {base_url(*grpc_address)} (gRPC)\n" if grpc_address else "")
        + f"Models    {models}\n"
        f"Data      {os.fspath(settings.DATA_DIR)}\n"
        f"Try it    curl {url}/v1/agents\n"
        + (f"Admin     {admin_link} (once, within 15 minutes)\n" if admin_link else "")
    )
