"""What the documentation names is there, and what is there is named: settings, commands, routes, events, metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.core.management import get_commands
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from agents.server.api.urls import routes
from agentsite.command_line import COMMANDS
from tests import ROOT, reference
from tests.sdks import table

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(DOCS.rglob("*.md"))]
SETTINGS = (ROOT / "agentsite" / "settings.py").read_text()
_READ = re.compile(r"""env\.(\w+)\(\s*"([A-Z_]+)"(?:,\s*([^,)]+))?""")


# --------------------------------------------------------------------------------------------- settings


def described() -> Iterator[tuple[str, str]]:
    """Each setting of the page with its default."""
    for line in (DOCS / "settings.md").read_text().splitlines():
        if line.startswith("| `"):
            names, defaults, _ = line.strip("| ").split("|", 2)
            found = re.findall(r"`([A-Z_]+)`", names)
            values = [value.strip(" `") for value in defaults.split(",")]
            yield from zip(found, values + values[-1:] * len(found), strict=False)


def test_every_setting_is_described_and_every_description_is_of_a_setting() -> None:
    read = {name for _, name, _ in _READ.findall(SETTINGS)}
    assert read == {name for name, _ in described()}


def test_numbers_and_switches_have_the_defaults_that_are_described() -> None:
    said = dict(described())
    for kind, name, default in _READ.findall(SETTINGS):
        plain = default.strip().replace("_", "")
        if kind == "integer" and plain.isdecimal():
            assert said[name] == plain, name
        if kind == "flag" and plain in ("", "True", "False"):
            assert said[name] == (plain or "False").lower(), name


# --------------------------------------------------------------------------------------------- commands


def test_every_command_is_described() -> None:
    page = (DOCS / "start.md").read_text()
    named = set(re.findall(r"`turnlog (\w+)`", page))
    assert named == set(COMMANDS)
    assert set(COMMANDS) <= set(get_commands())


def test_no_command_is_named_that_is_not_there() -> None:
    for page in PAGES:
        used = set(re.findall(r"(?:^|`)turnlog ([a-z_]+)", page.read_text(), re.MULTILINE))
        assert used - set(get_commands()) == set(), page


# ------------------------------------------------------------------------------------ routes, events, metrics


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    """``make docs`` writes it."""
    assert (reference.FOLDER / name).read_text() == reference.PAGES[name]()


def test_the_table_of_sdks_is_what_their_trials_expect() -> None:
    """``make docs`` writes it, too."""
    page = reference.ELSEWHERE.read_text()
    assert table.with_table(page) == page


def test_no_route_is_named_that_is_not_there() -> None:
    patterns = [re.compile(re.sub(r"<[^>]+>", r"[^/]+", route)) for route, _ in routes()]
    for page in PAGES:
        for path in re.findall(r"`(?:GET|POST|PUT|PATCH|DELETE) (/v1/[^`?\s]+)", page.read_text()):
            for one in _spelled(path) if "…" not in path else ():  # a part of a path stands for many
                assert any(pattern.fullmatch(one) for pattern in patterns), (page.name, one)


def _spelled(path: str) -> list[str]:
    """``/v1/{a,b}/{id}`` stands for two paths."""
    found = re.search(r"\{([^{}]*,[^{}]*)\}", path)
    if not found:
        return [path.rstrip(".")]
    return [spelled for word in found.group(1).split(",") for spelled in _spelled(path.replace(found.group(), word, 1))]


@pytest.mark.usefixtures("_served", "_quiet")
def test_every_metric_is_described_with_its_labels() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \|", page, re.MULTILINE)
    families = text_string_to_metric_families(Client().get("/metrics").content.decode())
    told = {
        (f"{family.name}_total" if family.type == "counter" else family.name, family.type)
        for family in families
        if not family.name.startswith("process_")
    }
    assert {(name, kind) for name, kind, _ in rows} == told
