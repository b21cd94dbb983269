"""Work of a serving process: rules of retention, once an hour."""

from __future__ import annotations

import logging

from agents.base import ids, rounds
from agents.base.reading import read
from agents.base.store import keys
from agents.logs.runner import retention as running
from agents.logs.store import retention
from agents.logs.store.retention import StoredRule
from agents.loop.background import BackgroundWork

log = logging.getLogger(__name__)

INTERVAL_US = 3_600_000_000
BUDGET_S = 20.0
"""How long a rule runs at a time; it goes on a minute later."""


class RetentionBackground(BackgroundWork):
    async def expire(self) -> int:
        """Run the rules that are due; called by the process that leads alone."""
        due = await read(retention.due, ids.now_us(), INTERVAL_US)
        return sum([await read(_run, rule) for rule in due])


def _run(rule: StoredRule) -> int:
    """Run a rule, and return how many turns it has deleted. One that fails runs again an hour later, and keeps no
    other from running."""
    try:
        return sum(receipt.turns for receipt in running.run(keys.local(), rule, BUDGET_S))
    except Exception as error:  # logged, and on the page of health: it must not keep other rules from running
        log.exception("the rule of retention %r failed", rule.name)
        rounds.failed("retention", error)
        retention.note_run(rule)
        return 0
