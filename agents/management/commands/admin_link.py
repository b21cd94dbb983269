"""``turnlog admin_link``: prints a link that makes its reader a superuser."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from agents.base.errors import InvalidRequest
from agents.identity.store import accounts


class Command(BaseCommand):
    help = "Make a superuser and print a link that sets its password: works once, for 15 minutes."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--username", default=accounts.SUPERUSER)
        parser.add_argument(
            "--base-url", default="", help="where the server is reached, if not at PUBLIC_URL, or HOST and PORT"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        base_url = options["base_url"].rstrip("/") or _base_url()
        try:
            self.stdout.write(accounts.link_for(options["username"], base_url))
        except InvalidRequest as error:
            raise CommandError(error.message) from error


def _base_url() -> str:
    if settings.PUBLIC_URL:
        return str(settings.PUBLIC_URL)
    name = "localhost" if settings.LOOPBACK else settings.HOST
    return f"http://{f'[{name}]' if ':' in name else name}:{settings.PORT}"
