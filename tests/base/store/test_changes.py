"""The change feed, however much one transaction changes."""

from __future__ import annotations

import pytest

from agents.base.models.changes import Change, ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer

pytestmark = pytest.mark.django_db
MANY = 100_000


def test_a_transaction_may_change_more_than_a_statement_takes() -> None:
    told: list[changes.ChangeBatch] = []
    deaf = changes.listen(told.append)
    before = changes.latest()

    def note() -> None:
        for key in range(1, MANY + 1):
            changes.note(ChangeKind.STEP, key)

    writer.write(note)
    deaf()
    assert Change.objects.count() == MANY
    [changed] = told
    assert changed.seq == changes.latest()
    assert changed.records[0] == (ChangeKind.STEP, 1)
    after = changes.after(before, limit=10)
    assert after is not None
    assert after.records == changed.records[:10]
