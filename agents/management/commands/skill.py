"""``turnlog skill``: prints what a coding agent needs to connect a program to this server, and to read its log."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

LOCAL = "http://localhost:8321"
"""How the page of the documentation names a server."""


class Command(BaseCommand):
    help = "Print, as Markdown, how a program is connected to this server and how its log is read."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--url", default="", help="the server, if it is not the one of PUBLIC_URL, HOST and PORT")

    def handle(self, *args: Any, url: str, **options: Any) -> None:
        host = "localhost" if settings.LOOPBACK else settings.HOST
        address = url.rstrip("/") or settings.PUBLIC_URL or f"http://{host}:{settings.PORT}"
        page = (settings.BASE_DIR / "docs" / "skill.md").read_text(encoding="utf-8")
        self.stdout.write(page.replace(LOCAL, address))
