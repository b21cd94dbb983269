"""What stands at the front of the repository is true: the license, and the table of what to touch."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests import ROOT

PRODUCT = ("agents", "agentsite", "templates", "static", "docs", "README.md")
BESIDE = ("agents/migrations", "agents/locale", "docs/languages.md")
"""What comes on top of each row, as the page says."""
KINDS = {".py", ".html", ".css", ".js", ".md"}


def rows_to_touch() -> list[tuple[str, str, set[str]]]:
    """The rows of "To add an X, touch these": what is added, the example, the files."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    [section] = re.findall(r"^## To add an X.*?(?=^## )", page, re.M | re.S)
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    cells = [re.split(r"(?<!\\)\|", line.strip("| ")) for line in lines]
    return [
        (what.strip(), example.strip(" `").replace(r"\|", "|"), set(re.findall(r"`([^`]+)`", files)))
        for what, example, files in cells
    ]


def files_that_know(example: str) -> set[str]:
    """The product's files in which the regular expression occurs, or whose path it is part of."""
    files = [file for part in PRODUCT for file in [ROOT / part, *(ROOT / part).rglob("*")] if file.suffix in KINDS]
    known = {str(file.relative_to(ROOT)): file for file in files}
    pattern = re.compile(example)
    return {
        name
        for name, file in known.items()
        if not name.startswith(BESIDE) and (pattern.search(name) or pattern.search(file.read_text()))
    }


@pytest.mark.parametrize(("example", "files"), [pytest.param(*row[1:], id=row[0]) for row in rows_to_touch()])
def test_the_rows_of_what_to_touch_are_complete(example: str, files: set[str]) -> None:
    assert files_that_know(example) == files


def test_the_table_of_what_to_touch_is_read() -> None:
    assert len(rows_to_touch()) >= 8


def test_the_license_is_the_one_that_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    for name in project["license-files"]:
        assert "Apache License\n                           Version 2.0, January 2004" in (ROOT / name).read_text()
