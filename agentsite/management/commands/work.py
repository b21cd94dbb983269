"""``turnlog work``: a process that runs turns, and nothing else."""

from __future__ import annotations

from argparse import ArgumentParser

from agentsite.management.commands import serve


class Command(serve.Command):
    help = "Run turns only, beside servers on the same PostgreSQL: `serve --only run`, without the demo."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(only="run", no_demo=True)
