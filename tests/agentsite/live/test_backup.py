"""``manage.py backup``, ``restore`` and ``copy_to_postgres``: what was written is there again, on either database."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.live.caller import Caller, Talk
from tests.support.live.process import ServerProcess, database, running

pytestmark = pytest.mark.server

BEFORE = "0023_processes"
"""A migration of an earlier version, whose database is backed up by this one."""


class Databases:
    """Makes data folders with databases of their own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack, self._count = folder, stack, 0

    def new(self, environment: dict[str, str] | None = None) -> ServerProcess:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        where = self._stack.enter_context(database()) if environment is None else environment
        return ServerProcess(folder, where)


@pytest.fixture
def databases(tmp_path: Path) -> Iterator[Databases]:
    with ExitStack() as stack:
        yield Databases(tmp_path, stack)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A database with the demo, and a backup of it in ``demo.zip``."""
    with database() as where:
        process = ServerProcess(tmp_path_factory.mktemp("demo"), where)
        process.manage("migrate", "--verbosity=0")
        process.manage("demo")
        process.manage("backup", str(process.folder / "demo.zip"))
        yield process


def content(file: Path) -> dict[str, tuple[int, str]]:
    """The rows and the hash of each table of a backup."""
    with zipfile.ZipFile(file) as archive:
        tables = json.loads(archive.read("manifest.json"))["tables"]
    return {entry["table"]["name"]: (entry["rows"], entry["sha256"]) for entry in tables}


def refused(process: ServerProcess, *command: str) -> str:
    """What a command that fails says of it."""
    with pytest.raises(subprocess.CalledProcessError) as failed:
        process.manage(*command)
    words = str(failed.value.stderr)
    assert "Traceback" not in words
    return words


def test_a_backup_taken_while_turns_run_is_restored_and_served(
    tmp_path: Path, data: Path, databases: Databases
) -> None:
    first, again = tmp_path / "first.zip", tmp_path / "again.zip"
    with running(tmp_path, data=data) as source:
        talk = Talk(Caller(source.port))
        talk.say("say before the backup")
        stopping = threading.Event()

        def keep_talking() -> None:
            busy = Talk(Caller(source.port))
            while not stopping.is_set():
                busy.say("say meanwhile")

        writers = [threading.Thread(target=keep_talking) for _ in range(3)]
        for thread in writers:
            thread.start()
        said = source.manage("backup", str(first))
        stopping.set()
        for thread in writers:
            thread.join()
    assert "counts and hashes are right" in said
    assert first.stat().st_mode & 0o077 == 0
    assert list(tmp_path.glob(".*")) == []
    restored = databases.new()
    assert "counts and hashes are right" in restored.manage("restore", str(first))
    restored.manage("backup", str(again))
    assert content(first) == content(again)
    turns = content(first)["agents_turn"][0]
    try:
        restored.start()
        caller = Caller(restored.port)
        assert caller.get(f"/v1/agents/{talk.agent}/session/{talk.session}").status == 200  # ids are as they were
        assert len(listed(caller, "")) == min(turns, 1000)  # as many as are listed at once
        assert listed(caller, "before backup")[0]["session_id"] == talk.session
        assert Talk(caller).say("say after the restore").status == 200
    finally:
        restored.kill()


_RESTORE_AND_LOOK = """
from pathlib import Path
from agents.base.store.claims import ClaimKind, Claims
from agents.server.backup import restoring
from agents.server.backup.archives import Archive
taken = []
restoring.restore(Archive(Path({file!r})), lambda table: taken.extend(Claims(ClaimKind.START).take([0])))
print(taken)
"""


def test_who_starts_while_a_backup_is_restored_waits(demo: ServerProcess, databases: Databases) -> None:
    restored = databases.new()
    restored.manage("migrate", "agents", BEFORE)
    assert restored.shell(_RESTORE_AND_LOOK.format(file=str(demo.folder / "demo.zip"))) == "[]\n"
    restored.close_shell()


def listed(caller: Caller, query: str) -> Any:
    return caller.get(f"/v1/logs/turns?q={query.replace(' ', '%20')}&limit=1000").json["data"]


def test_a_backup_of_an_older_version_is_brought_to_the_present_one(tmp_path: Path, databases: Databases) -> None:
    old, new = databases.new(), databases.new()
    old.manage("migrate", "agents", BEFORE, "--verbosity=0")
    old.shell("from agents.models import Scope, User\nUser.objects.create(username='old')\n")
    old.close_shell()
    old.manage("backup", str(tmp_path / "old.zip"))
    assert f"at migration {BEFORE}" in new.manage("restore", str(tmp_path / "old.zip"))
    assert new.shell("from agents.models import User; print(User.objects.get().username)") == "old\n"
    new.close_shell()
    assert "No changes" in new.manage("makemigrations", "--check", "--dry-run")


@pytest.mark.parametrize("damage", ["cut", "changed", "other"])
def test_a_damaged_backup_is_refused(damage: str, demo: ServerProcess, tmp_path: Path) -> None:
    whole, broken = (demo.folder / "demo.zip").read_bytes(), tmp_path / "broken.zip"
    place = whole.index(b"tables/agents_stepdetail.jsonl.zst") + 200
    byte = bytes([whole[place] ^ 1])
    broken.write_bytes(
        {
            "cut": whole[: len(whole) // 2],
            "changed": whole[:place] + byte + whole[place + 1 :],
            "other": b"PK\x05\x06" + bytes(18),
        }[damage]
    )
    empty = ServerProcess(tmp_path, {})
    assert f"{broken} is no whole backup" in refused(empty, "restore", str(broken))


def test_there_is_no_backup_of_nothing(tmp_path: Path) -> None:
    said = refused(ServerProcess(tmp_path, {}), "backup", str(tmp_path / "empty.zip"))
    assert "Cannot read the database: unable to open database file" in said
    assert list(tmp_path.glob("*.zip")) == []


def test_only_an_empty_database_is_filled(demo: ServerProcess) -> None:
    assert "The database is not empty" in refused(demo, "restore", str(demo.folder / "demo.zip"))


def test_a_backup_of_a_newer_version_is_refused(demo: ServerProcess, tmp_path: Path) -> None:
    newer = tmp_path / "newer.zip"
    with zipfile.ZipFile(demo.folder / "demo.zip") as archive, zipfile.ZipFile(newer, "w") as copy:
        for name in archive.namelist():
            raw = archive.read(name)
            if name == "manifest.json":
                manifest = json.loads(raw)
                manifest["migrations"]["agents"].append("9999_future")
                raw = json.dumps(manifest).encode()
            copy.writestr(name, raw)
    said = refused(ServerProcess(tmp_path, {}), "restore", str(newer))
    assert "is of a newer version of this program (with agents.9999_future)" in said


def test_a_file_is_not_replaced_and_a_folder_gets_a_new_one(demo: ServerProcess, tmp_path: Path) -> None:
    assert "there is such a file already" in refused(demo, "backup", str(demo.folder / "demo.zip"))
    demo.manage("backup", str(tmp_path))
    [file] = tmp_path.iterdir()
    assert content(file) == content(demo.folder / "demo.zip")
    assert "No such file or directory" in refused(demo, "backup", str(tmp_path / "missing" / "backup.zip"))


def test_a_secret_of_the_environment_is_told_and_not_written(tmp_path: Path, databases: Databases) -> None:
    with database() as where:
        source = ServerProcess(tmp_path, {**where, "SECRET_KEY": "a" * 50, "ID_SECRET": "b" * 50})
        source.manage("migrate", "--verbosity=0")
        file = tmp_path / "backup.zip"
        assert "comes from the environment and is not in it" in source.manage("backup", str(file))
    with zipfile.ZipFile(file) as archive:
        assert "secret" not in archive.namelist()
        assert all(b"b" * 50 not in archive.read(name) for name in archive.namelist())
    other = databases.new()
    line = ["restore", str(file)]
    assert "Put the backup's secret" not in other.manage(*line)


def test_sqlite_is_copied_to_postgresql_and_back(demo: ServerProcess, databases: Databases, tmp_path: Path) -> None:
    if not os.environ.get("TEST_DATABASE_URL"):
        pytest.skip("needs PostgreSQL")
    sqlite = databases.new({})
    sqlite.manage("restore", str(demo.folder / "demo.zip"))
    url = databases.new().database_url
    assert "Restored" in sqlite.manage("copy_to_postgres", url)
    copy = ServerProcess(sqlite.folder, {"DATABASE_URL": url})
    copy.manage("backup", str(tmp_path / "copy.zip"))
    assert content(tmp_path / "copy.zip") == content(demo.folder / "demo.zip")
    # numbers that the database gives go on behind those that were copied
    copy.shell("from agents.models import Change; Change.objects.create(kind=1, key=1)")
    copy.close_shell()
    found = copy.manage("logs", "list", "umbrella")  # by the index of words
    assert found
    assert found == sqlite.manage("logs", "list", "umbrella")
