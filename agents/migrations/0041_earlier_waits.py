"""The waits of the turns that exist, as their responses tell them: each ended when its turn began to wait, and the next
began with the answer. What waited for a decision about a call that was lost is not known any more."""

from itertools import pairwise

from django.db import migrations

from agents.base.models.operations import FillBesideWriters

BATCH_SIZE = 500
AWAITING_INPUT, CANCELLED = 3, 6
NATIVE, DEMO = 1, 2
TOOL_EXECUTION = 2


def fill(cursor, after):
    """Fill in some turns behind a key; returns the last, None after all."""
    turns = _next_turns(cursor, after)
    if not turns:
        return None
    marks = ", ".join(["%s"] * len(turns))
    cursor.execute(
        f"SELECT id, status, completed_at, doubt_at FROM agents_turn WHERE id IN ({marks}) AND source IN (%s, %s) "
        "AND waited_us IS NULL AND waiting_at IS NULL",
        [*turns, NATIVE, DEMO],
    )
    rows = cursor.fetchall()
    cursor.execute(
        f"SELECT turn_id, created_at, completed_at FROM agents_response WHERE turn_id IN ({marks}) "
        "ORDER BY turn_id, number",
        turns,
    )
    responses = {}
    for turn, *times in cursor.fetchall():
        responses.setdefault(turn, []).append(times)
    for turn, status, completed_at, doubt_at in rows:
        times = responses.get(turn, [])
        waiting_at = (times[-1][1] if times else None) if status == AWAITING_INPUT else doubt_at
        _fill_turn(cursor, turn, _waited(times, completed_at), waiting_at)
    if rows:
        cursor.execute(
            "UPDATE agents_step SET waited_us = duration_us, duration_us = NULL WHERE type = %s AND NOT server_side "
            f"AND duration_us > 0 AND turn_id IN ({', '.join(['%s'] * len(rows))})",
            [TOOL_EXECUTION, *(row[0] for row in rows)],
        )
    return turns[-1]


def _next_turns(cursor, after):
    """The next turns that may have waited: those of several responses, and those that wait or ended while they did."""
    cursor.execute(
        "SELECT turn_id FROM agents_response WHERE turn_id > %s AND number = 2 ORDER BY turn_id LIMIT %s",
        [after, BATCH_SIZE],
    )
    found = {turn for (turn,) in cursor.fetchall()}
    for status in (AWAITING_INPUT, CANCELLED):
        cursor.execute(
            "SELECT id FROM agents_turn WHERE status = %s AND id > %s ORDER BY id LIMIT %s", [status, after, BATCH_SIZE]
        )
        found |= {turn for (turn,) in cursor.fetchall()}
    cursor.execute(
        "SELECT id FROM agents_turn WHERE doubt_at IS NOT NULL AND id > %s ORDER BY id LIMIT %s", [after, BATCH_SIZE]
    )
    found |= {turn for (turn,) in cursor.fetchall()}
    return sorted(found)[:BATCH_SIZE]


def _waited(responses, completed_at):
    """From the end of each response to the beginning of the next, or to the end of the turn."""
    ends = [(before[1], after[0]) for before, after in pairwise([*responses, (completed_at, None)])]
    return sum(max(after - before, 0) for before, after in ends if before is not None and after is not None)


def _fill_turn(cursor, turn, waited, waiting_at):
    cursor.execute(
        "UPDATE agents_turn SET waited_us = %s, waiting_at = %s, duration_us = "
        "CASE WHEN completed_at IS NULL THEN NULL ELSE completed_at - started_at - %s END WHERE id = %s",
        [waited or None, waiting_at, waited, turn],
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("agents", "0040_waits"),
    ]

    operations = [FillBesideWriters(fill)]
