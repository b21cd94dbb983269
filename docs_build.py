"""Builds the documentation from ``docs/`` into ``build/docs``, for the server to show at ``/docs/``.

A hook of the build, so that a wheel has it inside; ``python docs_build.py`` does the same in a clone. Each page is also
there as it was written (``queries.md`` beside ``queries/``), and ``llms.txt`` lists them for models.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface as Hook
except ImportError:  # in a clone that only serves
    Hook = object  # type: ignore[misc, assignment]  # it stands for a class that is not there

ROOT = Path(__file__).resolve().parent
SOURCES, SITE, CONFIG = ROOT / "docs", ROOT / "build" / "docs", ROOT / "zensical.toml"

STYLES, PALETTE = "assets/turnlog.css", "assets/javascripts/palette.js"
_PALETTE = re.compile("<script>(var palette=.*?)</script>")
_STROKES = 'fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round" stroke-width="2"'
_ICON = re.compile(
    rf'<svg xmlns="http://www.w3.org/2000/svg" {_STROKES} class="lucide lucide-(?P<name>[a-z-]+)" '
    r'viewBox="(?P<box>[\d ]+)">(?P<drawn>.*?)</svg>',
    re.DOTALL,
)
NOT_SHOWN = (
    "assets/stylesheets/classic",  # of the theme's other variant
    "assets/images/favicon.png",  # the mark is one
    "assets/social.png",  # of the repository's own page
    "404.html",  # the server has its own
    "progress",  # of the repository alone
    "progress.md",
)


class DocsHook(Hook):  # type: ignore[type-arg]  # of no parameters where it is object
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "wheel" and version != "editable":
            build()
            build_data["force_include"][str(SITE)] = "turnlog/_app/docs"


def build() -> None:
    """Build the site. Raises CalledProcessError for what does not hold together, a dead link for instance."""
    line = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", CONFIG.name]
    subprocess.run(line, cwd=ROOT, check=True)
    for path in SOURCES.rglob("*.md"):
        shutil.copy(path, SITE / path.relative_to(SOURCES))
    for name in NOT_SHOWN:
        path = SITE / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    _leave_out_of_search("progress/")
    _share_parts({path: without_indents(path.read_text(encoding="utf-8")) for path in SITE.rglob("*.html")})
    (SITE / "llms.txt").write_text(listing(), encoding="utf-8")


def _leave_out_of_search(page: str) -> None:
    index = SITE / "search.json"
    content = json.loads(index.read_text(encoding="utf-8"))
    content["items"] = [item for item in content["items"] if not item["location"].startswith(page)]
    index.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _share_parts(pages: Mapping[Path, str]) -> None:
    """Write these pages, with their icons and the script of the palette in files beside them: each page would repeat
    them."""
    icons = {name: parts for page in pages.values() for name, *parts in _ICON.findall(page)}
    with (SITE / STYLES).open("a", encoding="utf-8") as styles:
        styles.writelines(_style_of(name, *parts) for name, parts in icons.items())
    [script] = {script for page in pages.values() for script in _PALETTE.findall(page)}
    (SITE / PALETTE).write_text(script, encoding="utf-8")
    for path, page in pages.items():
        root = "../" * (len(path.relative_to(SITE).parts) - 1)
        shared = _ICON.sub(r'<svg class="lucide-\g<name>" viewBox="\g<box>"></svg>', page)
        path.write_text(_PALETTE.sub(f'<script src="{root}{PALETTE}"></script>', shared), encoding="utf-8")


def _style_of(name: str, box: str, drawn: str) -> str:
    """Return the style that draws an icon in the colour of the text. The theme's script knows no shared symbols: it
    fails at their references."""
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" {_STROKES} viewBox="{box}">{drawn}</svg>'
    mask = f'url("data:image/svg+xml,{quote(picture.replace("currentColor", "#000"))}") center/contain no-repeat'
    return f".lucide-{name}{{background:currentColor;-webkit-mask:{mask};mask:{mask}}}\n"


def without_indents(page: str) -> str:
    """Return a page without the indents and empty lines of its templates, which are a third of it. Code stays."""
    parts = re.split(r"(<pre\b.*?</pre>)", page, flags=re.DOTALL)
    return "".join(part if part.startswith("<pre") else re.sub(r"\s*\n\s*", "\n", part) for part in parts)


def listing() -> str:
    """Return what ``llms.txt`` says: each page by its section, with its title and first sentence."""
    project = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}", ""]
    for title, paths in sections(project["nav"]):
        lines += [f"## {title}", "", *(_entry(path) for path in paths), ""]
    return "\n".join(lines)


def sections(nav: list[Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of the navigation with the paths of their pages, in order."""
    for section in nav:
        for title, entries in section.items():
            yield title, [entry if isinstance(entry, str) else next(iter(entry.values())) for entry in entries]


def _entry(path: str) -> str:
    text = (SOURCES / path).read_text(encoding="utf-8")
    title, _, rest = text.removeprefix("# ").partition("\n")
    paragraph = " ".join(rest.strip().partition("\n\n")[0].split())
    first = re.split(r"(?<=[.:]) ", paragraph, maxsplit=1)[0].rstrip(":")
    return f"- [{title.strip()}]({path}): {first}"


if __name__ == "__main__":
    build()
