"""Starting servers: several at once, without the right to change tables, and on data that they cannot use, where
they say why and end."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests import ROOT
from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, database, eventually

pytestmark = pytest.mark.server


def test_a_store_that_is_no_database_ends_the_start_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "agents.sqlite3").write_bytes(b"no database, whatever its name says " * 400)
    own = {"DATA_DIR": str(tmp_path), "DATABASE_URL": "", "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
    line = [sys.executable, "manage.py", "serve", "--port", "0"]
    result = subprocess.run(
        line, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 1
    assert "Cannot use the database (DATABASE_URL): file is not a database" in result.stderr
    assert "Traceback" not in result.stderr


@contextmanager
def new_servers(folder: Path, count: int, *, demo: bool = False, **environment: str) -> Iterator[list[ServerProcess]]:
    """Servers that share a new database, and on SQLite the whole data folder; they are not started yet."""
    shared = folder / "shared"
    shared.mkdir()
    with database() as where, ExitStack() as stack:
        own = {"SECRET_KEY": "so long that nobody guesses it, but short enough to type"} if where else {}
        servers = []
        for number in range(count):
            home = folder / f"server-{number}"
            home.mkdir()
            if not where:
                (home / "data").symlink_to(shared)
            servers.append(ServerProcess(home, {**where, **own, **environment}, demo=demo))
            stack.callback(servers[-1].kill)
        yield servers


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a start has no child")
@pytest.mark.parametrize("how", ["end", "interrupt", "kill"])
def test_a_start_that_is_ended_leaves_no_process(tmp_path: Path, how: str) -> None:
    """Its child, which makes tables and files, once went on to its end, and held the port."""
    with new_servers(tmp_path, 1) as [server]:
        line, pipe = [sys.executable, "manage.py", "serve", "--port", "0"], subprocess.PIPE
        starting = subprocess.Popen(
            line, cwd=ROOT, env=server.environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        eventually(lambda: has_child(starting.pid))
        if how == "interrupt":
            os.killpg(starting.pid, signal.SIGINT)  # as Ctrl-C does
        else:
            starting.send_signal(signal.SIGTERM if how == "end" else signal.SIGKILL)
        printed = starting.communicate(timeout=60)  # all of it: until no process holds the pipes
        assert printed == ("", "")
        assert starting.returncode == {"end": 0, "interrupt": 130, "kill": -signal.SIGKILL}[how]
        assert not (Path(server.environment["DATA_DIR"]) / "static" / "stamp.txt").exists()


def has_child(pid: int) -> bool:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            if stat.read_text().rpartition(")")[2].split()[1] == str(pid):
                return True
    return False


@pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="a SQLite file has one server")
def test_several_that_start_at_once_share_a_new_database(tmp_path: Path) -> None:
    with new_servers(tmp_path, 4, demo=True) as servers:
        with ThreadPoolExecutor(len(servers)) as pool:
            list(pool.map(ServerProcess.start, servers))
        agents = [Caller(server.port).get("/v1/agents").json["data"] for server in servers]
        names = [agent["agent_config"]["name"] for agent in agents[0]]
        assert len(names) == len(set(names)) > 2
        assert agents[1:] == agents[:1] * 3
        for server in servers:
            server.stop()


@pytest.mark.skipif(bool(os.environ.get("TEST_DATABASE_URL")), reason="a PostgreSQL has many servers")
def test_a_file_that_is_served_is_refused_to_a_second_server(tmp_path: Path) -> None:
    with new_servers(tmp_path, 2) as [first, second]:
        first.start()
        assert "serves this SQLite file: it can have one" in refusal(second)
        first.stop()
        second.start()
        second.stop()


def refusal(server: ServerProcess, *options: str) -> str:
    """What a server says that does not start."""
    line = [sys.executable, "manage.py", "serve", "--port", "0", *options]
    result = subprocess.run(
        line, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def test_a_store_that_takes_nothing_ends_the_start_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    server = ServerProcess(tmp_path)
    server.manage("migrate")
    with sqlite3.connect(tmp_path / "data" / "agents.sqlite3") as store:
        store.execute("CREATE TRIGGER f BEFORE INSERT ON agents_user BEGIN SELECT RAISE(ABORT, 'no room'); END")
    store.close()
    assert "Cannot use the database (DATABASE_URL): no room" in refusal(server)


def test_who_may_not_change_tables_waits_for_those_who_may(tmp_path: Path) -> None:
    with new_servers(tmp_path, 1, demo=True, MIGRATE="false", DEMO="false") as [server]:
        assert "is not ready for this version: it lacks" in refusal(server)
        server.manage("migrate")
        server.start()
        assert Caller(server.port).get("/v1/agents").json["data"] == []
        server.stop()
        server.manage("migrate", "agents", "0021")
        assert "the first is agents.00" in refusal(server, "--no-migrate")


def test_a_server_with_another_secret_is_refused(tmp_path: Path) -> None:
    with new_servers(tmp_path, 2, MIGRATE="true") as [first, second]:
        first.start()
        agent = Caller(first.port).post("/v1/agents", {"agent_config": {"model": "demo", "instructions": "Help."}})
        first.stop()
        second.use(ID_SECRET="of another house")
        said = refusal(second)
        assert "made with another ID_SECRET" in said
        assert "SECRET_KEY" in said
        assert "DATA_DIR" in said
        first.start()
        path = f"/v1/agents/{agent.json['agent_id']}"
        assert Caller(first.port).get(path).status == 200
        first.stop()
        second.manage("migrate", "--accept-id-secret")
        second.start()
        assert Caller(second.port).get(path).status == 404
        second.stop()


def test_a_database_of_before_takes_the_secret_of_its_next_start(tmp_path: Path) -> None:
    with new_servers(tmp_path, 1) as [server]:
        server.start().stop()
        server.shell("from agents.models import SecretFingerprint as F; assert F.objects.all().delete()[0] == 1")
        server.close_shell()
        server.start().stop()
        server.use(SECRET_KEY="of another house, and long enough for all that need it long")
        assert "made with another ID_SECRET" in refusal(server)


def test_an_upgrade_leaves_every_reference_its_row(tmp_path: Path) -> None:
    with new_servers(tmp_path, 1, demo=True) as [server]:
        server.start().stop()
        server.manage("migrate", "agents", "0022")
        server.manage("migrate")
        server.shell("from django.db import connection; connection.check_constraints()")  # raises IntegrityError
        server.close_shell()
        server.start()
        assert Caller(server.port).get("/v1/logs/turns").json["data"]
        server.stop()


# a SQLite file has one server, so nobody reads its tables beside a migration
@pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="a SQLite file is not served while it is migrated")
def test_a_table_that_is_read_for_long_is_changed_later_and_stays_open_to_others(tmp_path: Path) -> None:
    with new_servers(tmp_path, 1) as [server]:
        server.manage("migrate")
        server.manage("migrate", "agents", "0022")
        with psycopg.connect(server.database_url) as report, psycopg.connect(server.database_url) as other:
            report.execute("SELECT count(*) FROM agents_turn")  # its transaction stays open
            line = [sys.executable, "-u", "manage.py", "migrate"]
            migration = subprocess.Popen(line, cwd=ROOT, env=server.environment, stderr=subprocess.PIPE, text=True)
            assert migration.stderr is not None  # a pipe
            assert "in use by a long transaction" in migration.stderr.readline()
            other.execute("SET statement_timeout = '20s'")
            other.execute("UPDATE agents_turn SET status = status")
            other.commit()
            assert migration.poll() is None
            report.commit()
            assert migration.wait(60) == 0
            migration.stderr.close()
        server.start().stop()
