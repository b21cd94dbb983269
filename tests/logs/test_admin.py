"""Rules of retention in the admin: added, previewed, switched off; receipts are read only."""

from __future__ import annotations

import pytest

from agents.base import ids
from agents.base.store import keys
from agents.base.timestamps import to_datetime
from agents.logs.models.retention import RetentionReceipt, RetentionRule
from agents.logs.store import retention
from tests.fixtures.admin import Browser
from tests.support.builders import make_agent, make_turn
from tests.support.pages.markup import words

pytestmark = pytest.mark.django_db

RULES, RECEIPTS = "/admin/agents/retentionrule/", "/admin/agents/retentionreceipt/"


def given(**more: str) -> dict[str, str]:
    return {"name": "demo", "query": "agent:demo", "archives_as": "", "enabled": "on", **more}


def test_a_rule_is_added_previewed_and_switched_off(boss: Browser) -> None:
    make_turn(keys.local(), agent=make_agent(keys.local(), name="demo"))
    assert boss.post(f"{RULES}add/", given(archives_as="jsonl")).status_code == 302
    rule = RetentionRule.objects.get()
    assert (rule.name, rule.query, rule.archives_as, rule.enabled) == ("demo", "agent:demo", "jsonl", True)
    assert "archive as JSON lines, then delete" in words(boss.read(RULES))
    shown = words(boss.act(RULES, "preview", rule.pk).content.decode())
    assert "Rule demo would delete now: turns 1, sessions with all that is inside 1." in shown
    assert boss.post(f"{RULES}{rule.pk}/change/", given(enabled="")).status_code == 302
    assert not retention.get("demo").enabled
    assert boss.post(f"{RULES}{rule.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not RetentionRule.objects.exists()


def test_a_wrong_query_is_told(boss: Browser) -> None:
    for query in ("statsu:failed", " "):
        answer = boss.post(f"{RULES}add/", given(query=query))
        assert answer.status_code == 200
    assert not RetentionRule.objects.exists()


def test_receipts_are_shown_and_not_changed(boss: Browser) -> None:
    receipt = RetentionReceipt(rule="demo", query="agent:demo", began_at=to_datetime(ids.now_us()), turns=1_204)
    receipt.save(force_insert=True)
    assert "1,204" in words(boss.read(RECEIPTS))
    assert "agent:demo" in words(boss.read(f"{RECEIPTS}{receipt.pk}/change/"))
    assert boss.get(f"{RECEIPTS}add/").status_code == 403
    assert boss.post(f"{RECEIPTS}{receipt.pk}/delete/", {"post": "yes"}).status_code == 403
