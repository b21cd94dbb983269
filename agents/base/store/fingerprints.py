"""Whether this server's secret is the one that the database's public ids were made with."""

from __future__ import annotations

from hmac import compare_digest

from agents.base import ids
from agents.base.models.fingerprints import SecretFingerprint
from agents.base.store.sql import Insert
from agents.base.store.writer import writer

_NAME = "ID_SECRET"
_ADD = Insert(SecretFingerprint, "name digest", once=True)
_REPLACE = Insert(SecretFingerprint, "name digest", replace="name")


def is_same_secret() -> bool:
    """Tell whether this is the secret of the servers that were started on this database before. The first one stores
    its fingerprint."""
    rows = SecretFingerprint.objects.filter(pk=_NAME).values_list("digest", flat=True)
    stored = rows.first()
    if stored is None:
        writer.write(lambda: _ADD.execute(_NAME, ids.fingerprint()))
        stored = rows.get()
    return compare_digest(bytes(stored), ids.fingerprint())


def accept_secret() -> None:
    """Let this be the secret from now on: all public ids given out before are void."""
    writer.write(lambda: _REPLACE.execute(_NAME, ids.fingerprint()))
