"""Run rules of retention: what a rule selects is written into a file, if it archives, and deleted.

A run goes in portions. Each has a file, which is complete, on disk and in a receipt before the first of its turns is
deleted, so that a crash at any moment loses nothing; the turns of a file that were not deleted then are in the next
one again. A turn that goes on while its portion is written is not deleted.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
from django.conf import settings

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError
from agents.base.timestamps import to_datetime
from agents.logs.runner import export_requests
from agents.logs.store import export, retention, rows
from agents.logs.store.retention import EndedTurns, StoredReceipt, StoredRule
from agents.query.tree import Query

PORTION_TURNS = 2_000
"""Turns of one file, and of one receipt, at least; a batch more at most."""
_ENDINGS = {"jsonl": "jsonl.gz", "parquet": "parquet"}


def archive_folder(rule: StoredRule) -> Path:
    """Return the folder that a rule writes its files into."""
    return Path(rule.folder) if rule.folder else Path(settings.DATA_DIR) / "archives"


def run(actor: Actor, rule: StoredRule, budget_s: float | None = None) -> list[StoredReceipt]:
    """Run a rule to its end, or until the time is over; return the receipts. Only a run that came to its end counts
    as one. Raises AgentsError (such as QuerySyntax, or InvalidRequest without pyarrow) and OSError."""
    began = time.monotonic()
    receipts = []
    for portion in _portions(actor, retention.parse(rule.query)):
        receipts.append(_run_portion(actor, rule, portion))
        if budget_s is not None and time.monotonic() - began > budget_s:
            return receipts
    retention.note_run(rule)
    return receipts


def _portions(actor: Actor, query: Query) -> Iterator[EndedTurns]:
    portion: EndedTurns = {}
    for ended, _ in retention.ended_turns(actor, query):
        portion |= ended
        if len(portion) >= PORTION_TURNS:
            yield portion
            portion = {}
    if portion:
        yield portion


def _run_portion(actor: Actor, rule: StoredRule, turns: EndedTurns) -> StoredReceipt:
    receipt = StoredReceipt(ids.new_key(), rule.name, rule.query, to_datetime(ids.now_us()))
    if rule.archives_as:
        _archive(actor, rule, turns, receipt)
    retention.save_receipt(receipt)
    receipt.turns, receipt.sessions = retention.delete(actor, turns)
    receipt.finished_at = to_datetime(ids.now_us())
    retention.save_receipt(receipt)
    return receipt


def _archive(actor: Actor, rule: StoredRule, turns: EndedTurns, receipt: StoredReceipt) -> None:
    """Write the turns into a new file, and note it in the receipt."""
    folder = archive_folder(rule)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", rule.name).strip("-.")[:60] or "rule"
    stamp = f"{receipt.began_at:%Y%m%d-%H%M%S}-{receipt.id % 1_000_000:06d}"
    path = folder / f"{name}-{stamp}.{_ENDINGS[rule.archives_as]}"
    partial = path.with_name(f".{path.name}.partial")
    try:
        with open(partial, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
            if rule.archives_as == "jsonl":
                with gzip.GzipFile(filename="", fileobj=file, mode="wb") as packed:
                    receipt.archived = _write(actor, rule, turns, packed)
            else:
                receipt.archived = _write(actor, rule, turns, file)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    _sync_folder(folder)
    with path.open("rb") as written:
        receipt.sha256 = hashlib.file_digest(written, "sha256").hexdigest()
    receipt.file, receipt.bytes = str(path), path.stat().st_size


def _write(actor: Actor, rule: StoredRule, turns: EndedTurns, file: IO[bytes] | gzip.GzipFile) -> int:
    """Write the turns in the format of the rule; return how many."""
    params = {"format": rule.archives_as, "whole": "true" if rule.archives_as == "jsonl" else ""}
    request = export_requests.read_request(actor, "turn", params)
    file.write(request.encoder.head)
    keys, written = list(turns), 0
    for start in range(0, len(keys), export.BATCH_ROWS):
        batch = rows.of("turn", keys[start : start + export.BATCH_ROWS])
        for encode in export_requests.encoders(request, batch):
            content = encode()
            if request.full_turns and content:
                _check_line(content)
            file.write(content)
        written += len(batch)
    file.write(request.encoder.tail())
    return written


def _check_line(line: bytes) -> None:
    """Raise AgentsError unless a turn is JSON as it was written: its rows are deleted next."""
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        start = line[:100].decode(errors="replace")
        raise AgentsError(f"A turn cannot be archived, so its portion stays: {error}, in {start}…") from error


def _sync_folder(folder: Path) -> None:
    """Write the name of a new file to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
