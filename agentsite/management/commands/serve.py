"""``manage.py serve``: runs the whole server in one process."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import resource
import socket
import sqlite3
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.utils import DatabaseError

from agents.base.subjects import is_installed
from agentsite import sqlite, staticfiles

log = logging.getLogger(__name__)

MAX_DESCRIPTORS = 65_536


class Command(BaseCommand):
    help = "Migrate, load the demo on the first start, and serve HTTP, SSE, WebSocket and the pages."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.HOST)
        parser.add_argument("--port", type=int, default=settings.PORT, help="0 takes any free port")
        parser.add_argument("--no-demo", action="store_true", help="start with an empty log")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["host"] != settings.HOST:
            raise CommandError("Set the address by HOST, so that access follows it.")
        self.check(app_configs=[apps.get_app_config("agents")])
        listening = self._bind(options["host"], options["port"])
        run_in_child(lambda: self._prepare(demo=not options["no_demo"]))
        url = base_url(*listening.getsockname()[:2])
        greeting = welcome(url, self._admin_link(url))
        connection.close()
        self._serve(listening, greeting)

    @staticmethod
    def _admin_link(url: str) -> str | None:
        if not is_installed("identity"):
            return None
        from agents.identity.store import accounts

        return accounts.admin_link(url)

    @staticmethod
    def _bind(host: str, port: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise CommandError(f"Cannot listen on {host}:{port}: {error.strerror}. Set PORT to another.") from error
        listening.listen(1024)
        listening.setblocking(False)
        return listening

    def _prepare(self, *, demo: bool) -> None:
        """Create tables, static files and the demo, as far as they are missing."""
        self._migrate()
        staticfiles.collect()
        if demo:
            call_command("demo", if_empty=True)

    @staticmethod
    def _migrate() -> None:
        try:
            sqlite.create_file(settings.DATABASES["default"])
            for path in sqlite.make_private(settings.DATABASES["default"]):
                log.warning("%s may be open to others of this machine, and its rights cannot be changed", path)
            call_command("migrate", verbosity=0)
        except (DatabaseError, sqlite3.DatabaseError) as error:
            reason = str(error).strip().splitlines()[0]
            raise CommandError(f"Cannot use the database (DATABASE_URL): {reason}") from error

    def _serve(self, listening: socket.socket, greeting: str) -> None:
        # the reactor is installed by this import, so it comes as late as possible
        from agentsite.lifecycle import Lifecycle
        from agentsite.server import AgentServer

        from agentsite.asgi import application  # isort: skip

        raise_descriptor_limit()
        lifecycle = Lifecycle()
        server = AgentServer(
            application,
            listening,
            caps=self._caps(),
            start=lambda: self._start(lifecycle, greeting),
            drain=lifecycle.drain,
            stop=lifecycle.stop,
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
            return frozenset(route.encode() for route, view in routes() if view.takes == takes)

        body, upload, telemetry = (
            size * 2**20 for size in (settings.MAX_BODY_MB, settings.MAX_UPLOAD_MB, settings.MAX_OTLP_MB)
        )
        uploads = paths_taking("upload") | ({b"/import/"} if is_installed("telemetry") else set())
        return BodyLimits(body, upload, uploads, telemetry, paths_taking("report"))

    async def _start(self, lifecycle: Any, greeting: str) -> None:
        await lifecycle.start()
        release_memory()
        self.stdout.write(greeting)
        self.stdout.flush()


def run_in_child(work: Callable[[], None]) -> None:
    """Do work of the start in a forked child where the system can (Linux), so that its memory is freed with it.

    This process must not have started a thread or opened the database before. Raises SystemExit if the work fails."""
    if sys.platform != "linux":
        return work()
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return sys.exit(status) if status else None
    status = 1
    try:
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
    allocator can (glibc): an idle server holds twenty megabytes less. The remaining objects stay until the end and
    are excluded from garbage collection."""
    gc.collect()
    gc.freeze()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def base_url(host: str, port: int) -> str:
    """Return the URL of this server on its own machine."""
    name = "localhost" if settings.LOOPBACK else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def welcome(url: str, admin_link: str | None) -> str:
    """Return the text printed at the start: URLs, a first request, and a link to become administrator."""
    models = "the built-in scripted model" if not settings.OPENAI_BASE_URL else settings.OPENAI_BASE_URL
    return (
        f"Logs      {url}/logs/\n"
        f"API       {url}/v1 (docs: {url}/docs/)\n"
        f"Models    {models}\n"
        f"Data      {os.fspath(settings.DATA_DIR)}\n"
        f"Try it    curl {url}/v1/agents\n"
        + (f"Admin     {admin_link} (once, within 15 minutes)\n" if admin_link else "")
    )
