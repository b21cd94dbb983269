"""Reads the file of a batch into lines, or says what is wrong with it."""

from __future__ import annotations

from typing import Any

import msgspec
from django.conf import settings

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotAllowed, NotFound
from agents.batches.runner.lines import view_of
from agents.batches.schemas.lines import RequestLine
from agents.batches.store import work
from agents.batches.store.work import BatchClaim
from agents.batches.wire import lines as wire
from agents.batches.wire.lines import LineError
from agents.knowledge.store import files

STORED_TOGETHER = 200
MAX_FILE_MB = 200


def validate(held: BatchClaim, actor: Actor) -> None:
    """Store the requests of a batch and set it to run, or end it as failed with what is wrong. Blocking."""
    work.clear_lines(held)
    reading = _Reading(held)
    try:
        reading.read(actor)
    except LineError as error:
        reading.note(error, None)
    if reading.errors:
        listed = msgspec.json.encode(reading.errors).decode()
        if work.set_status(held, "failed", of=("validating", "cancelling"), errors=listed):
            work.clear_lines(held)
        return
    models = reading.models
    name = next(iter(models)) if len(models) == 1 else ""
    work.set_facts(held, reading.total, name[:300])
    work.set_status(held, "in_progress", of=("validating",))


class _Reading:
    """What has been read of a file: the number of requests, the models they name, what is wrong."""

    def __init__(self, held: BatchClaim) -> None:
        self._held = held
        self._names: set[str] = set()
        self._unstored: list[RequestLine] = []
        self.models: set[str] = set()
        self.errors: list[dict[str, Any]] = []
        self.total = 0

    def note(self, error: LineError, line: int | None) -> None:
        self.errors.append({"code": error.code, "message": error.message, "line": line, "param": error.param})

    def read(self, actor: Actor) -> None:
        """Raises LineError for what is wrong with the file as a whole."""
        if view_of(self._held.endpoint) is None:
            raise LineError("invalid_endpoint", f"This server has no {self._held.endpoint}.", "endpoint")
        for number, line in wire.split(files.blocks(_file_key(self._held, actor)), settings.MAX_BODY_MB * 2**20):
            try:
                self._take(wire.read(number, line, self._held.endpoint))
            except LineError as error:
                self.note(error, number)
                if len(self.errors) >= wire.MAX_ERRORS:
                    return
        self._store()
        if not self.total and not self.errors:
            raise LineError("empty_file", "The file holds no requests.", "input_file_id")

    def _take(self, request: RequestLine) -> None:
        if request.custom_id in self._names:
            message = "custom_id: an earlier line has the same."
            raise LineError("duplicate_custom_id", message, "custom_id")
        self._names.add(request.custom_id)
        self.total += 1
        if self.total > wire.MAX_LINES:
            raise LineError("too_many_tasks", f"The file holds more than {wire.MAX_LINES:,} requests.")
        if len(self.models) < 2:
            self.models.add(request.model)
        self._unstored.append(request)
        if len(self._unstored) >= STORED_TOGETHER:
            self._store()

    def _store(self) -> None:
        if self._unstored and not self.errors:
            work.add_lines(self._held, self._unstored)
        self._unstored = []


def _file_key(held: BatchClaim, actor: Actor) -> int:
    try:
        file = files.get(actor, held.input_file_id, "run")
    except (NotFound, NotAllowed):
        raise LineError("file_not_found", "The file is not there any more.", "input_file_id") from None
    if file.size > MAX_FILE_MB * 2**20:
        raise LineError("file_too_large", f"The file is larger than {MAX_FILE_MB} MiB.", "input_file_id")
    key = ids.parse_openai(ids.Kind.FILE, held.input_file_id)
    assert key is not None  # it was found by it
    return key
