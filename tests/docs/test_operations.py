"""What the files for Prometheus and Grafana name is what a server tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.test import Client

from tests import ROOT
from tests.support import metrics

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

FOLDER = ROOT / "docs" / "operations"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "grafana-dashboard.json").read_text())
LABELS = {"route", "status", "outcome", "kind", "endpoint", "round", "instance", "le", "job"}
"""Ours, and those of Prometheus itself."""


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in RULES)
    yield from (target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"])
    yield from (str(variable["query"]) for variable in DASHBOARD["templating"]["list"])


def named() -> set[str]:
    return {name for text in expressions() for name in re.findall(r"\b(?:turnlog|process)_\w+", text)}


def test_every_metric_that_is_named_exists() -> None:
    told = metrics.read(Client().get("/metrics").content.decode()).names
    assert named() - told == set()


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    told = metrics.read(Client().get("/metrics").content.decode()).names
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in told if name.startswith("turnlog_")}
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in named()}
    assert families - shown == set()


def test_labels_are_those_there_are() -> None:
    used = {label for text in expressions() for label in re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)", text)}
    used |= {label for text in expressions() for by in re.findall(r"by \(([^)]*)\)", text) for label in by.split(", ")}
    assert used <= LABELS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_a_rule_says_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert set(rule["annotations"]) == {"summary", "description"}
    assert rule["expr"].count("(") == rule["expr"].count(")")


def test_panels_have_distinct_numbers_and_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set[tuple[int, int]]()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
