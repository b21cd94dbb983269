"""Move top-level definitions of one module to another, and rewrite every import of them.

    python rehome.py OLD NEW name…

``OLD`` and ``NEW`` are dotted modules; ``NEW`` is made where it is missing, with ``DOC`` as its docstring. All imports
of the old module are copied, so run ``ruff check --fix --select I,F401`` and ``ruff format`` behind it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path


def file_of(module: str) -> Path:
    path = Path(module.replace(".", "/"))
    return path / "__init__.py" if path.is_dir() and not path.with_suffix(".py").exists() else path.with_suffix(".py")


def bound(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {node.target.id} if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else set()


def is_words(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def cut(lines: list[str], body: list[ast.stmt], names: set[str]) -> str:
    """Take the definitions out of the lines, with the comments above and the words below them."""
    pieces = []
    for node, behind in zip(body, [*body[1:], None], strict=True):
        if not bound(node) & names:
            continue
        start = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) - 1
        end = node.end_lineno or node.lineno
        if isinstance(node, ast.Assign | ast.AnnAssign) and behind is not None and is_words(behind):
            end = behind.end_lineno or end
        while start and lines[start - 1].startswith("#") and "-----" not in lines[start - 1]:
            start -= 1
        pieces.append((start, end))
    assert len(pieces) == len(names), f"{len(pieces)} of {len(names)} found"
    taken = "\n\n".join("".join(lines[start:end]) for start, end in pieces)
    for start, end in reversed(pieces):
        del lines[start:end]
    return taken


def paste(target: Path, taken: str, imports: str) -> None:
    if not target.exists():
        target.write_text(f'"""DOC"""\n\n{imports}\n\n{taken}')
        return
    text = target.read_text()
    lines, body = text.splitlines(keepends=True), ast.parse(text).body
    last = max((node.end_lineno or 0 for node in body if isinstance(node, ast.Import | ast.ImportFrom)), default=1)
    lines.insert(last, imports.replace("from __future__ import annotations\n", ""))
    target.write_text("".join(lines) + "\n\n" + taken)


def imported(old: str, new: str, names: set[str], match: re.Match[str]) -> str:
    """One import of the old module as imports of both."""
    inside = re.sub(r"#.*", "", match[2]).strip("()\n ").replace("\n", " ")
    given = [one.strip() for one in inside.split(",") if one.strip()]
    moved = [one for one in given if one.split()[0] in names]
    kept = [one for one in given if one not in moved]
    parts = [(old, kept), (new, moved)]
    return "\n".join(f"{match[1]}from {module} import ({', '.join(each)})" for module, each in parts if each)


def main(old: str, new: str, *given: str) -> None:
    names, source, target = set(given), file_of(old), file_of(new)
    text = source.read_text()
    lines, body = text.splitlines(keepends=True), ast.parse(text).body
    heads = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    imports = "".join("".join(lines[node.lineno - 1 : node.end_lineno]) for node in heads)
    taken = cut(lines, body, names)
    rest = "".join(lines)
    used = [name for name in given if re.search(rf"\b{name}\b", rest)]
    if used:
        rest = rest.replace(imports.splitlines()[-1] + "\n", f"{imports.splitlines()[-1]}\nfrom {new} import {', '.join(used)}\n")
    source.write_text(rest)
    paste(target, taken, imports)
    statement = re.compile(rf"^([ \t]*)from {re.escape(old)} import (\([^)]*\)|[^\n(]*)", re.MULTILINE)
    own = re.compile(rf"^from {re.escape(new)} import (\([^)]*\)|[^\n(]*)\n", re.MULTILINE)
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "*.py", "*.md"], text=True)
    for path in filter(Path.exists, map(Path, listed.splitlines())):
        before = after = path.read_text()
        after = statement.sub(lambda match: imported(old, new, names, match), after)
        for name in names:
            after = after.replace(f"{old}.{name}", f"{new}.{name}")
        after = own.sub("", after) if path == target else after
        if after != before:
            path.write_text(after)


if __name__ == "__main__":
    main(*sys.argv[1:])
