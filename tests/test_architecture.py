"""The shape of the house: who imports whom, how long a file may be, what must not stand in one."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT, lengthy, second_database

FILE_LINES, FUNCTION_LINES, PARAMETERS = 400, 60, 6
NAMES_NOBODY_UNDERSTANDS = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base2"}


def sources(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if "migrations" not in path.parts]


SERVER = sources("agents", "agentsite")
PRODUCT = [*SERVER, *sources("turnlog")]
ALL = [*PRODUCT, *sources("tests", "bench")]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


# --------------------------------------------------------------------------------------------- imports


@pytest.mark.slow  # the quick checks run them beside the tests
def test_the_import_contracts_are_kept() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_subject_has_its_place_in_the_contracts() -> None:
    """A package that they do not name could import anything."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    order, roles = (one for one in settings["contracts"] if one["type"] == "layers")
    named = {subject.strip() for layer in order["layers"] for subject in layer.split("|")}
    folders = {path.parent.name for path in (ROOT / "agents").glob("*/__init__.py")} - NO_SUBJECTS
    assert {f"agents.{name}" for name in folders} - named == set()
    without_roles = {"agents.query"}
    assert {f"agents.{name}" for name in folders} - {*roles["containers"]} == without_roles


NO_SUBJECTS = {"management", "migrations", "templatetags"}
"""Where Django looks for commands, migrations and tags of templates."""


def test_nothing_imports_what_only_django_does() -> None:
    for path in PRODUCT:
        for node in ast.walk(parsed(path)):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert not re.match(r"agents\.(apps|migrations|templatetags)\b", module), (name(path), module)
                assert not module.startswith(("tests", "bench", "conftest")), (name(path), module)


def test_the_other_agents_package_is_not_installed() -> None:
    """Its import name is ours."""
    from importlib.metadata import PackageNotFoundError, distribution

    with pytest.raises(PackageNotFoundError):
        distribution("openai-agents")


# --------------------------------------------------------------------------------------------- budgets


def test_files_stay_short() -> None:
    long = {name(path): lines for path in PRODUCT if (lines := len(path.read_text().splitlines())) > FILE_LINES}
    assert long == {}


def test_functions_stay_short() -> None:
    long = [
        f"{name(path)}: {node.name}, {lines} lines"
        for path in PRODUCT
        for node in functions(path)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert long == []


def test_functions_take_few_parameters() -> None:
    """Besides the object or class that a method belongs to."""
    many = []
    for path in PRODUCT:
        for node in functions(path):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = sum(argument.arg not in ("self", "cls") for argument in arguments)
            if count > PARAMETERS:
                many.append(f"{name(path)}: {node.name} takes {count}")
    assert many == []


# ---------------------------------------------------------------------------------------------- names

VAGUE = frozenset(
    {"found", "one", "told", "said", "asked", "given", "made", "shown", "each", "around", "behind", "known", "place"}
    | {"kept", "came", "there", "gone", "some", "rest", "whole", "words", "taken", "heard"}
)
"""Words that say nothing of what a name stands for."""
SHARE = 0.01
"""Of the assigned names that may have one; stored columns and keys of JSON are named for ever."""
OF_DJANGO = {"Meta", "Command"}


def assigned(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def test_names_are_words_of_the_field() -> None:
    names = [each for path in PRODUCT for each in assigned(path)]
    vague = [each for each in names if VAGUE & set(each.strip("_").lower().split("_"))]
    assert len(vague) / len(names) < SHARE, sorted(set(vague))


def test_no_two_public_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in SERVER:  # a client has the wire's names once more
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in OF_DJANGO:
                homes[node.name].append(name(path))
    assert {title: paths for title, paths in homes.items() if len(paths) > 1} == {}


# -------------------------------------------------------------------------------------------- modules


def test_every_module_says_what_it_is_for() -> None:
    silent = [name(path) for path in ALL if path.read_text() and not ast.get_docstring(parsed(path))]
    assert silent == []
    assert [name(path) for path in PRODUCT if not path.read_text()] == []


def test_no_module_is_called_anything() -> None:
    assert [name(path) for path in ALL if path.stem in NAMES_NOBODY_UNDERSTANDS] == []


def test_nothing_is_left_to_do() -> None:
    marks = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK")) + r")\b")
    assert [name(path) for path in ALL if marks.search(path.read_text())] == []


def test_every_exception_to_the_tools_gives_its_reason() -> None:
    bare = []
    for path in ALL:
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            ignored = re.search(r"#\s*type:\s*ignore(\[[\w, -]+\])?(.*)", line)
            silenced = re.search(r"#\s*noqa(: [A-Z0-9, ]+)?(.*)", line)
            for found in (ignored, silenced):
                if found and (not found[1] or len(found[2].strip(" #-")) < 3):
                    bare.append(f"{name(path)}:{number}")
    assert [one for one in bare if one.startswith(("agents", "agentsite", "turnlog"))] == []


# ------------------------------------------------------------------------------------- dangerous words

DANGEROUS = {"eval", "exec", "compile", "__import__", "mark_safe", "format_html_join"}
PICKLES = {"pickle", "marshal", "shelve", "dill", "yaml"}
SAFE_HTML = {"agents/uikit/markdown.py", "agents/uikit/json_view.py"}
"""Where what was cleaned or escaped is called safe."""


def test_no_module_runs_data_or_calls_it_safe() -> None:
    found = []
    for path in PRODUCT:
        for node in ast.walk(parsed(path)):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            imported = {alias.name.split(".")[0] for alias in node.names} if isinstance(node, ast.Import) else set()
            imported |= {(node.module or "").split(".")[0]} if isinstance(node, ast.ImportFrom) else set()
            if (called in DANGEROUS and name(path) not in SAFE_HTML) or imported & PICKLES:
                found.append(f"{name(path)}:{getattr(node, 'lineno', 0)}: {called or imported & PICKLES}")
    assert found == []


UNESCAPED = {"templates/logs/_cells.html"}
"""Writes words of ours by the hundred without escaping each, and escapes the others by hand."""


def test_templates_escape_everything() -> None:
    """What another template made says so itself (`fragment`), so no template has to call anything safe."""
    inline = re.compile(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|javascript:")
    found = []
    for path in sorted([*(ROOT / "templates").rglob("*.html"), *(ROOT / "agents/templates").rglob("*.html")]):
        text = path.read_text()
        found += [f"{name(path)}: {one}|safe" for one in re.findall(r"(\S+)\s*\|\s*safe\b", text)]
        found += [f"{name(path)}: {one}" for one in inline.findall(text)]
        if re.search(r"autoescape\s+(off|false)", text) and name(path) not in UNESCAPED:
            found.append(f"{name(path)}: autoescape")
    assert found == []


def test_lines_of_templates_can_be_read() -> None:
    long = [
        f"{name(path)}:{number}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if len(line) > 160
    ]
    assert long == []


# ----------------------------------------------------------------------------------------- other places


def tracked() -> list[Path]:
    """The files of the repository; of an unpacked archive, those that would be."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        left_out = {".git", ".venv", ".venvs", "var", "node_modules", "__pycache__"}
        files = [
            path for path in ROOT.rglob("*") if path.is_file() and not left_out & set(path.relative_to(ROOT).parts)
        ]
        return [path for path in files if "cache" not in str(path.relative_to(ROOT))]
    return [ROOT / one for one in listed.split("\0") if one and (ROOT / one).exists()]


HOSTS = (
    "pypi.",
    "pythonhosted.",
    "npmjs.",
    "crates.io",
    "rubygems.",
    "golang.org/",
    "-index-url",
    "unpkg.",
    "jsdelivr.",
)
PLACES = ("/work/", "/root/", "/home/", "/tmp/", "/Users/", "C:\\\\")


def test_no_file_names_a_registry_or_a_place_on_somebodys_machine() -> None:
    """Dependencies come from whatever registry is configured; paths are made, not known."""
    words = re.compile("|".join(map(re.escape, (*HOSTS, *PLACES))))
    found = []
    for path in tracked():
        if path == Path(__file__).resolve() or path.suffix in {".png", ".webp", ".woff2", ".ico"}:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            if words.search(line):
                found.append(f"{name(path)}:{number}: {line.strip()[:80]}")
    assert found == []


def test_no_file_of_a_tool_is_tracked() -> None:
    strays = re.compile(
        r"(^|/)(__pycache__|\.\w+_cache|\.hypothesis|\.schemathesis|\.venvs?|var|node_modules)/|\.(pyc|log|sqlite3)$"
    )
    assert [name(path) for path in tracked() if strays.search(name(path))] == []


def test_each_test_that_is_left_to_one_database_is_there() -> None:
    for beginning in second_database.ON_ONE:
        path, _, name = beginning.partition("::")
        assert (ROOT / path).exists(), beginning
        assert not name or f"def {name}" in (ROOT / path).read_text(), beginning


def test_each_lengthy_test_is_there() -> None:
    """``tests/lengthy.txt`` is written by a program, and a test that is renamed is one of the loop again."""
    gone = {name for name in lengthy.names() if not _has_test(*name.split("::"))}
    assert gone == set()


def _has_test(path: str, name: str) -> bool:
    return (ROOT / path).exists() and f"def {name}(" in (ROOT / path).read_text()
