"""The largest documents there may be, put into a vector store of a server: its memory stays bounded, it serves
others meanwhile, and reads the next document when it is through.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from openai import OpenAI

from tests.support.document_bombs import HEAVY, Bomb
from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, eventually

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]

GROWTH = 350 * 2**20
"""Two are read at a time, each of them tens of megabytes."""
OTHERS_WAIT_S = 30.0
"""A lot, as all share two processors; what stops a server stops it for minutes."""
READ_WITHIN_S = 240.0


def peak(server: ServerProcess) -> int:
    """The most memory that the server's process has held, in bytes; those that read PDFs have their own."""
    [line] = [line for line in Path(f"/proc/{server.pid}/status").read_text().splitlines() if "VmHWM" in line]
    return int(line.split()[1]) * 1024


class Store:
    """A vector store, and the files that are being read into it."""

    def __init__(self, client: OpenAI) -> None:
        self._files = client.files
        self._of_store = client.vector_stores.files
        self._id = client.vector_stores.create(name="kb").id

    def add(self, bomb: Bomb) -> str:
        file = self._files.create(file=(bomb.filename, bomb.make(), bomb.mime_type), purpose="assistants")
        return self._of_store.create(self._id, file_id=file.id).id

    def status(self, file: str) -> str:
        return self._of_store.retrieve(file, vector_store_id=self._id).status


def test_no_document_takes_the_server_with_it(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    caller = Caller(server.port)
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        store = Store(client)
        kettle = store.add(Bomb(lambda: b"A kettle."))
        eventually(lambda: store.status(kettle) == "completed")
        before = peak(server)
        given = {name: store.add(bomb) for name, bomb in HEAVY.items()}

        def all_are_read() -> bool:
            # not while a large document is being stored
            eventually(lambda: caller.get("/readyz").status == 200, OTHERS_WAIT_S)
            return not [file for file in given.values() if store.status(file) == "in_progress"]

        eventually(all_are_read, READ_WITHIN_S)
        found = {name: store.status(file) == "completed" for name, file in given.items()}
        assert found == {name: bomb.is_readable for name, bomb in HEAVY.items()}
        last = store.add(Bomb(lambda: b"A cup."))
        eventually(lambda: store.status(last) == "completed")
    assert peak(server) - before < GROWTH
