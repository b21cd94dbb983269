"""What the demo says holds together, and its turns can be run again."""

from __future__ import annotations

import json
import re

from agents.server.demo import questions
from agents.tools.providers import scripted as tools

LOOKUP, REFUND = re.compile(r"call lookup_order (\{.*\})"), re.compile(r"call approve_refund (\{.*\})")
ORDERS = next(tool for tool in tools.tools(pace=0) if tool.definition.name == "lookup_order")


def test_what_is_refunded_is_what_the_order_came_to() -> None:
    refunds = [script for script in questions.scripts().values() if REFUND.search(script)]
    assert len(refunds) == 2
    for script in refunds:
        [looked], [asked] = map(json.loads, LOOKUP.findall(script)), map(json.loads, REFUND.findall(script))
        assert asked["order"] == looked["order"]
        order = json.loads(str(ORDERS.answer(looked).content))
        assert asked["amount"] == order["total"]
        assert f"€{order['total']:.2f}" in script


def test_scenes_that_fail_are_left_to_the_model() -> None:
    scripts = questions.scripts()
    assert len(scripts) > 15
    assert not any(re.search(r"^(fail|cut)\b", script, re.MULTILINE) for script in scripts.values())
