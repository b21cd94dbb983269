"""``turnlog mcp``: the tools of the log over standard input and output, for programs that start MCP servers.

It passes requests on to a running server, with the rights of a key there: what acts and what only reads is the same as
over HTTP.
"""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

KEY_VARIABLE = "TURNLOG_API_KEY"


class Command(BaseCommand):
    help = "Offer the log of a running server as tools, by the Model Context Protocol over standard input and output."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--url", default=_own_address(), help="of the tools of a server; by default %(default)s")
        parser.add_argument(
            "--key-file", type=Path, help=f"with an API key; else it is that in {KEY_VARIABLE}, or none"
        )

    def handle(self, *args: Any, url: str, key_file: Path | None, **options: Any) -> None:
        from agents.log_tools.runner import stdio  # the SDK takes a second to import: not for --help

        key = _key(key_file)
        try:
            asyncio.run(stdio.serve(url, {"Authorization": f"Bearer {key}"} if key else {}))
        except stdio.NoServer as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            return


def _own_address() -> str:
    name = "localhost" if settings.LOOPBACK else settings.HOST
    return f"http://{f'[{name}]' if ':' in name else name}:{settings.PORT}{settings.URL_PREFIX}/mcp"


def _key(file: Path | None) -> str:
    if file is None:
        return os.environ.get(KEY_VARIABLE, "").strip()
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--key-file: cannot read {file}: {error}") from None
