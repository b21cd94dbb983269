"""The documentation as the server shows it: each page, as written too, for everybody, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

import docs_build
from tests import ROOT
from tests.support.pages.markup import elements

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
PAGES = [path for _, paths in docs_build.sections(PROJECT["nav"]) for path in paths]
QUESTIONS = {
    "connect": "clients/",
    "find": "find/",
    "act": "act/",
    "deploy": "deploy/",
    "extend": "extend/",
}


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    index = docs_build.SITE / "index.html"
    sources = [docs_build.CONFIG, *docs_build.SOURCES.rglob("*")]
    if not index.exists() or index.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        docs_build.build()


@pytest.fixture
def reader(_built: None, settings: Any) -> Client:
    """Somebody who has no login, where one is needed."""
    settings.REQUIRE_LOGIN = True
    return Client()


def address(page: str) -> str:
    """Where the server shows a page of the sources."""
    path = page.removesuffix("README.md").removesuffix("index.md").removesuffix(".md")
    return f"/docs/{path}/".replace("//", "/")


def scripts(text: str) -> list[str]:
    return re.findall(r"<script>(.*?)</script>", text, re.DOTALL)


def test_pages_are_small_and_their_code_is_as_it_was_written(reader: Client) -> None:
    source = (docs_build.SOURCES / "python-client.md").read_text()
    code = next(block for block in re.findall(r"```python\n(.*?)```", source, re.DOTALL) if "\n    " in block)
    page = reader.get(address("python-client.md")).content.decode()
    shown = [html.unescape(re.sub(r"<[^>]+>", "", block)) for block in re.findall(r"<pre.*?</pre>", page, re.DOTALL)]
    assert code.strip() in [block.strip() for block in shown]
    assert "\n " not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_every_page_is_shown_to_everybody(reader: Client) -> None:
    for page in PAGES:
        answer = reader.get(address(page))
        assert answer.status_code == 200, page
        title = (docs_build.SOURCES / page).read_text().splitlines()[0].removeprefix("# ")
        [heading] = re.findall(r"<h1[^>]*>(.*?)<", answer.content.decode())[:1]
        assert heading.replace("&#39;", "'").replace("&quot;", '"') == title


def test_a_page_runs_its_own_scripts_and_no_others(reader: Client) -> None:
    for page in PAGES:
        answer = reader.get(address(page))
        policy = answer.headers["Content-Security-Policy"]
        [allowed] = re.findall(r"script-src ([^;]*)", policy)
        digests = {hashlib.sha256(script.encode()).digest() for script in scripts(answer.content.decode())}
        assert set(allowed.split()) == {"'self'", *(f"'sha256-{base64.b64encode(one).decode()}'" for one in digests)}


def test_nothing_is_fetched_from_elsewhere(reader: Client) -> None:
    for page in PAGES:
        text = (reader.get(address(page))).content.decode()
        sources = [
            each["src"] for kind in ("script", "img", "iframe") for each in elements(text, kind) if "src" in each
        ]
        sources += [
            each["href"] for each in elements(text, "link") if each.get("rel") not in ("canonical", "next", "prev")
        ]
        assert [source for source in sources if re.match(r"(\w+:)?//", source)] == []


def test_a_page_is_there_as_it_was_written(reader: Client) -> None:
    for page in PAGES:
        answer = reader.get(f"/docs/{page}")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.content == (docs_build.SOURCES / page).read_bytes()


def test_a_list_for_models_has_every_page_with_a_sentence(reader: Client) -> None:
    listing = (reader.get("/docs/llms.txt")).content.decode()
    rows = dict(re.findall(r"^- \[[^]]+\]\(([^)]+)\): (.*)$", listing, re.MULTILINE))
    assert list(rows) == PAGES
    assert [page for page, sentence in rows.items() if not re.match(r"[A-Z`\"]\S*[\w`'’,]* ?\w", sentence)] == []


def test_every_page_has_its_place_in_the_navigation() -> None:
    pages = {str(path.relative_to(docs_build.SOURCES)) for path in docs_build.SOURCES.rglob("*.md")}
    assert pages - {"progress.md"} == set(PAGES)


def test_the_questions_of_a_newcomer_are_one_click_away(reader: Client) -> None:
    text = (reader.get("/docs/")).content.decode()
    [article] = re.findall(r"<article.*?</article>", text, re.DOTALL)
    links = {each.get("href") for each in elements(article, "a")}
    assert set(QUESTIONS.values()) <= links


def test_a_dead_link_ends_the_build(tmp_path: Path) -> None:
    for name in ("docs_build.py", "zensical.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    page = tmp_path / "docs" / "start.md"
    page.write_text(f"{page.read_text()}\n[nowhere](nowhere.md)\n")
    done = subprocess.run([sys.executable, "docs_build.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "does not exist" in done.stdout + done.stderr
