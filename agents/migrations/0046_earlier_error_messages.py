"""What the messages of the errors that exist have in common with others of their kind."""

import json

from django.db import migrations

from agents.base.models.operations import FillBesideWriters
from agents.base.tokenizer import fold
from agents.record.store.error_messages import alike

BATCH_SIZE = 500
ERROR_MESSAGE = 13
FAILED, CANCELLED, INTERRUPTED = 5, 6, 7


def fill_turns(cursor, after):
    """Fill in some turns behind a key; returns the last, None after all."""
    return _fill(cursor, after, "agents_turn", "agents_turnbody", "turn_id")


def fill_steps(cursor, after):
    """Fill in some steps behind a key; returns the last, None after all."""
    return _fill(cursor, after, "agents_step", "agents_stepdetail", "step_id")


def _fill(cursor, after, table, bodies, key):
    rows = _next_rows(cursor, after, table, bodies, key)
    for row, error in rows:
        term = _interned(cursor, alike(json.loads(error).get("message") or ""))
        cursor.execute(f"UPDATE {table} SET error_message_id = %s WHERE id = %s", [term, row])
    return rows[-1][0] if rows else None


def _next_rows(cursor, after, table, bodies, key):
    """The next rows that have an error, with its JSON: by status, as that has an index."""
    found = []
    for status in (FAILED, CANCELLED, INTERRUPTED):
        cursor.execute(
            f"SELECT id, error FROM {table} JOIN {bodies} ON {key} = id WHERE status = %s AND status <> 4 "
            "AND id > %s AND error_type_id IS NOT NULL AND error <> '' ORDER BY id LIMIT %s",
            [status, after, BATCH_SIZE],
        )
        found += cursor.fetchall()
    return sorted(found)[:BATCH_SIZE]


def _interned(cursor, text):
    if not text:
        return None
    cursor.execute(
        "INSERT INTO agents_term (kind, value, folded) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        [ERROR_MESSAGE, text, fold(text)[:1000]],
    )
    cursor.execute("SELECT id FROM agents_term WHERE kind = %s AND value = %s", [ERROR_MESSAGE, text])
    return cursor.fetchone()[0]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0045_error_messages"),
    ]

    operations = [FillBesideWriters(fill_turns), FillBesideWriters(fill_steps)]
