"""No page, script or module writes a link of ours without the path that may be before it."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT

WORDS = (
    "admin|agents|connect|conversations|dashboard|docs|health|import|keys|language|login|logout|logs|prices|responses"
    "|sessions|static|steps|turns|welcome"
)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = [path for path in sorted((ROOT / "static").rglob("*.js")) if "vendor" not in path.parts]
PAGES = [
    path
    for path in sorted((ROOT / "agents").rglob("*.py"))
    if "pages" in path.relative_to(ROOT).parts or path.name == "pages.py" or "uikit" in path.parts
    if path.name not in ("urls.py", "navigation.py")
]


def of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", TEMPLATES, ids=of)
def test_a_template_begins_its_links_with_the_root(path: Path) -> None:
    text = re.sub(r"\{#.*?#\}", "", path.read_text(), flags=re.DOTALL)
    assert re.findall(rf'(?<!root }}}})(?<!%\(root\)s)(?<=[" }}])/(?:{WORDS})/', text) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=of)
def test_a_script_begins_its_links_with_the_root(path: Path) -> None:
    code = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE)
    assert re.findall(rf"(?<!startsWith\()[\"'`]/(?:{WORDS}|v1|ws)\b", code) == []


def bare(path: Path) -> Iterator[str]:
    """The texts of a module that are links of ours and do not stand in a call of `at`."""
    before = ["", ""]
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in (tokenize.NL, tokenize.COMMENT):
            continue
        if token.type == tokenize.STRING and re.match(rf'f?"/(?:{WORDS})/', token.string) and before != ["at", "("]:
            yield token.string
        before = [before[1], token.string]


@pytest.mark.parametrize("path", PAGES, ids=of)
def test_a_module_makes_its_links_by_at(path: Path) -> None:
    assert list(bare(path)) == []
