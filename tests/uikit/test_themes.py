"""The themes' colours: high contrast is the same chosen as wished for, and has the contrast it promises."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from tests import ROOT

TOKENS = (ROOT / "static" / "uikit" / "tokens.css").read_text()
SCHEMES = ("light", "dark")


def block(start: str) -> str:
    """The declarations behind a selector."""
    return TOKENS[TOKENS.index(start) + len(start) :].split("}")[0]


def tokens(declarations: str) -> dict[str, str]:
    return dict(re.findall(r"(--[\w-]+): ([^;]+);", declarations))


CHOSEN = tokens(block(':root[data-theme="contrast"] {'))
USUAL = tokens(block(":root {"))


def colour(name: str, scheme: str) -> str:
    """``#rrggbb`` of a token in high contrast."""
    pair = re.findall(r"#[0-9a-f]{6}", CHOSEN.get(name, USUAL[name]))
    return str(pair[SCHEMES.index(scheme)])


def luminance(hexadecimal: str) -> float:
    channels = [int(hexadecimal[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ratio(one: str, other: str) -> float:
    """As WCAG 2.2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_high_contrast_is_the_same_chosen_and_wished_for() -> None:
    wished = TOKENS[TOKENS.index("@media (prefers-contrast: more)") :]
    assert tokens(wished.split("}")[0]) == CHOSEN
    assert CHOSEN.keys() <= USUAL.keys()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["--ink", "--ink-2", "--ink-3", "--accent", "--ok", "--bad", "--warn"])
def test_words_stand_out_seven_to_one(name: str, scheme: str) -> None:
    for paper in ("--paper", "--sheet", "--sunk", "--hover"):
        assert ratio(colour(name, scheme), colour(paper, scheme)) >= 7, paper


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("name", "paper"),
    [("--accent", "--accent-tint"), ("--bad", "--bad-tint"), ("--warn", "--warn-tint"), ("--on-mark", "--mark")],
)
def test_words_on_tints_stand_out(name: str, paper: str, scheme: str) -> None:
    assert ratio(colour(name, scheme), colour(paper, scheme)) >= 7


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_drawn_stands_out(scheme: str) -> None:
    drawn = [*("--inference", "--tool", "--shield", "--memory", "--other", "--control", "--rule-strong")]
    drawn += [f"--series-{name}" for name in ("1", "2", "3", "4", "5", "rest")]
    for name in drawn:
        assert ratio(colour(name, scheme), colour("--paper", scheme)) >= 4.5, name
    for name in ("--rule",):
        assert ratio(colour(name, scheme), colour("--paper", scheme)) >= 3, name


@pytest.mark.parametrize(("cookie", "written"), [("contrast", True), ("dark", True), ("light", True), ("x", False)])
def test_the_server_writes_the_theme(client: Client, db: None, cookie: str, written: bool) -> None:
    client.cookies["theme"] = cookie
    page = client.get("/agents/").content.decode()
    assert (f'data-theme="{cookie}"' in page) == written
    assert page.count("data-for-theme=") == 4
