"""The command line, of ``manage.py`` in a clone and of ``turnlog`` where it is installed."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agentsite import memory
from turnlog import __version__

COMMANDS = {
    "serve": "the server: API, pages, turns; migrates and, on the first start, loads a demo",
    "work": "runs turns only, beside servers on the same PostgreSQL",
    "migrate": "brings the tables to this version; `serve` does, too",
    "demo": "loads sample agents and turns of every kind",
    "logs": "lists, exports, tags, deletes, imports: the log from a terminal",
    "mcp": "the log as tools, over standard input and output",
    "skill": "prints what a coding agent needs to connect a program to this server",
    "prices": "prices of models, and costs of earlier steps",
    "retention": "rules that delete or archive turns after some time",
    "backup": "writes the whole database into one file, beside running servers",
    "restore": "fills an empty database from a backup",
    "copy_to_postgres": "copies the database of SQLite into an empty one of PostgreSQL",
    "partition": "splits the large tables of PostgreSQL by month",
    "admin_link": "prints a link, good once, that makes its reader an administrator",
    "check": "looks at the settings",
}
"""Our commands, with what they are for. Django's others work, too."""

ENV_FILE = "--env-file"


def run(argv: list[str], data_folder: Callable[[], str] | None = None) -> None:
    """Run the command of a command line; ``serve`` where it names none. ``data_folder`` returns where the data is if
    no setting says so; without it the settings' own default holds. Raises SystemExit."""
    arguments = _read_env_file(argv[1:])
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in {"-h", "--help", "--version"}):
        arguments.insert(0, "serve")
    with _readers_may_leave():
        if arguments[0] in {"-h", "--help"} or arguments == ["help"]:
            sys.stdout.write(usage(Path(argv[0]).name))
        elif arguments[0] in {"--version", "version"}:
            sys.stdout.write(f"Turnlog {__version__}\n")
        else:
            _run_command(argv[0], arguments, data_folder)
        sys.stdout.flush()


@contextmanager
def _readers_may_leave() -> Iterator[None]:
    """End without a word where whoever reads the output has enough, as ``head`` does."""
    try:
        yield
    except BrokenPipeError:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
            sys.exit(128 + signal.SIGPIPE)
        raise


def usage(program: str) -> str:
    """Return the text of ``--help``."""
    lines = "\n".join(f"  {name:<18}{purpose}" for name, purpose in COMMANDS.items())
    return (
        f"Turnlog {__version__}, the agent server whose log is the run itself.\n\n"
        f"  {program} [{ENV_FILE} FILE] [command] [--help]\n\n{lines}\n\n"
        "Without a command it serves on http://localhost:8321. Settings are environment variables, or lines of a file\n"
        f"that {ENV_FILE} names; the documentation, at /docs/ of a running server, has all of them.\n"
    )


def _run_command(program: str, arguments: list[str], data_folder: Callable[[], str] | None) -> None:
    is_serving = arguments[0] in {"serve", "work"}
    if data_folder is not None and not os.environ.get("DATA_DIR", "").strip():
        os.environ["DATA_DIR"] = data_folder()
    if is_serving:
        memory.use_system_allocator()
        # until the server has its own: the first process of a container gets no signal that it does not handle
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # what is imported before would be imported once more: a server's process begins anew there
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from agentsite import optional_imports

    # what is imported stays: to look for garbage in it again and again took a quarter of every start
    gc.set_threshold(50_000, 20, 100)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    try:
        if is_serving:
            gc.disable()  # until the server has started
            optional_imports.keep_out()
        execute_from_command_line([program, *arguments])
    except ImproperlyConfigured as error:
        sys.exit(f"Cannot start: {error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _read_env_file(arguments: list[str]) -> list[str]:
    """Set the variables of the file that the first argument names, as far as the environment has none of these names;
    return the arguments behind it."""
    option, has_value, value = arguments[0].partition("=") if arguments else ("", "", "")
    if option != ENV_FILE:
        return arguments
    remaining = arguments[1:]
    if not has_value:
        if not remaining:
            sys.exit(f"{ENV_FILE}: name a file")
        value, remaining = remaining[0], remaining[1:]
    from dotenv.parser import parse_stream

    try:
        with Path(value).open(encoding="utf-8-sig") as file:
            bindings = list(parse_stream(file))
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{ENV_FILE}: cannot read {value}: {getattr(error, 'strerror', None) or error}")
    for binding in bindings:
        if binding.error or (binding.key and binding.value is None):
            sys.exit(f"{ENV_FILE}: {value}, line {binding.original.line}: write NAME=value")
        if binding.key:
            os.environ.setdefault(binding.key, binding.value or "")
    return remaining
