"""Move modules of ``agents`` by a list of "old -> new", and every mention of them with them.

    python move.py MAP [--dry]

Run in the project's root, on a clean tree. A line of the list is ``store.legs -> record.store.start_turn``, relative to
``agents``; ``a.* -> b.*`` moves a package whole. Imports are rewritten statement by statement (a module that gets another
name is renamed where it is used, or imported under its old one where that name is taken), names from ``agents.models``
are imported from the module that has them, and dotted names and paths in texts follow. Nothing is committed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path.cwd()
IMPORT = re.compile(r"from (agents[\w.]*) import (\w+(?:, \w+)*)")
ROLES = {"models", "schemas", "store", "wire", "api", "pages", "admin", "urls", "stream"}
TEXT = {".py", ".md", ".toml", ".html", ".css", ".js", ".txt", ".po", ".json", ".yml", ""}


def tracked(*where: str) -> list[Path]:
    return [ROOT / line for line in subprocess.check_output(["git", "ls-files", *where], text=True).split("\n") if line]


def module_of(path: Path) -> str:
    return str(path.relative_to(ROOT))[:-3].replace("/", ".").removesuffix(".__init__")


FILES = {module_of(p): p for p in tracked("agents") if p.suffix == ".py" and "migrations" not in p.parts}


def read_map(path: str) -> dict[str, str]:
    exact, wild = {}, []
    for line in Path(path).read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        old, new = (f"agents.{part.strip()}" for part in line.split("->"))
        if old.endswith(".*"):
            wild.append((old[:-2], new[:-2]))
        else:
            exact[old] = new
    wild.sort(key=lambda pair: -len(pair[0]))
    out = {}
    for module in FILES:
        new = exact.get(module)
        for old, to in wild:
            if new is None and (module == old or module.startswith(old + ".")):
                new = to + module[len(old) :]
        if new and new != module:
            out[module] = new
    return out


def defining() -> dict[str, str]:
    """Names of ``agents.models`` to the modules that define them."""
    tree = ast.parse(FILES["agents.models"].read_text())
    return {
        alias.name: node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


class Rewriter:
    def __init__(self, moves: dict[str, str], models: dict[str, str]) -> None:
        self.moves, self.models, self.notes = moves, models, []
        every = sorted(moves, key=len, reverse=True)
        dotted = "|".join(re.escape(name) for name in every)
        self.dotted = re.compile(rf"(?<![\w./])({dotted})(?![\w])")
        paths = {self._path(old): self._path(new) for old, new in moves.items()}
        self.paths = paths
        self.slashed = re.compile(
            "(?<![\\w/])(" + "|".join(re.escape(p) for p in sorted(paths, key=len, reverse=True)) + ")(?!\\w)"
        )

    @staticmethod
    def _path(module: str) -> str:
        file = FILES.get(module)
        if file is not None and file.name == "__init__.py":
            return module.replace(".", "/") + "/__init__.py"
        return module.replace(".", "/") + ".py"

    def text(self, source: str) -> str:
        source = self.dotted.sub(lambda m: self.moves[m[1]], source)
        source = IMPORT.sub(self._imported, source)
        return self.slashed.sub(lambda m: self.paths[m[1]], source)

    def _imported(self, match: re.Match[str]) -> str:
        """A statement inside a text, such as a program that a test runs: all of its names are modules that move together."""
        names = [name.strip() for name in match[2].split(",")]
        new = [self.moves.get(f"{match[1]}.{name}", "") for name in names]
        parents = {one.rpartition(".")[0] for one in new}
        if "" in new or len(parents) > 1:
            return match[0]
        each = [base if base == name else f"{base} as {name}" for name, base in zip(names, (one.rpartition(".")[2] for one in new), strict=True)]
        return f"from {parents.pop()} import {', '.join(each)}"

    def python(self, path: Path, source: str) -> str:
        tree = ast.parse(source)
        lines = source.splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line.encode()))
        data = source.encode()
        edits: list[tuple[int, int, str]] = []
        renames: dict[str, str] = {}
        bound = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
        bound |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {
            n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
        }
        imported = {
            a.asname or a.name for n in ast.walk(tree) if isinstance(n, (ast.ImportFrom, ast.Import)) for a in n.names
        }
        planned = Counter(
            self.moves.get(f"{n.module}.{a.name}", "").rpartition(".")[2]
            for n in ast.walk(tree)
            if isinstance(n, ast.ImportFrom)
            for a in {x.name: x for x in n.names}.values()
        )
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.level or not (node.module or "").split(".")[0] == "agents":
                continue
            groups: dict[str, list[str]] = defaultdict(list)
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                if full in FILES:
                    new = self.moves.get(full, full)
                    parent, _, base = new.rpartition(".")
                    name = alias.asname
                    if base != alias.name and name is None:
                        if (
                            base in ROLES
                            or planned[base] > 1
                            or base in bound
                            or base in imported
                            or alias.name in bound
                        ):
                            name = alias.name
                            self.notes.append(f"{path.relative_to(ROOT)}: {base} as {alias.name}")
                        else:
                            renames[alias.name] = base
                    groups[parent].append(base + (f" as {name}" if name and name != base else ""))
                else:
                    module = self.models.get(alias.name, node.module) if node.module == "agents.models" else node.module
                    keep = node.module == "agents.models" and path == FILES["agents.models"]
                    module = self.moves.get(module or "", module or "") if not keep else module
                    groups[module].append(alias.name + (f" as {alias.asname}" if alias.asname else ""))
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            old = data[begin:end].decode()
            comments = " ".join(re.findall(r"#[^\n]*", old))
            pad = "\n" + " " * node.col_offset
            new_text = pad.join(
                f"from {module} import ({', '.join(names)})" if len(names) > 1 else f"from {module} import {names[0]}"
                for module, names in sorted(groups.items())
            )
            if comments:
                new_text += "  " + comments
            edits.append((begin, end, new_text))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in renames:
                begin = starts[node.lineno - 1] + node.col_offset
                edits.append((begin, begin + len(node.id.encode()), renames[node.id]))
        for begin, end, new_text in sorted(edits, reverse=True):
            data = data[:begin] + new_text.encode() + data[end:]
        return self.text(data.decode())


def main() -> None:
    moves = read_map(sys.argv[1])
    twice = [
        new for new in set(moves.values()) if list(moves.values()).count(new) > 1 or (new in FILES and new not in moves)
    ]
    assert not twice, twice
    clash = set(moves) & set(moves.values())
    assert not clash, clash
    rewriter = Rewriter(moves, defining())
    for path in tracked():
        if (
            path.suffix not in TEXT
            or not path.is_file()
            or path.is_symlink()
            or "requirements" in path.name
            or "captures" in path.parts
        ):
            continue
        try:
            source = path.read_text()
        except UnicodeDecodeError:
            continue
        new = rewriter.python(path, source) if path.suffix == ".py" else rewriter.text(source)
        if new != source and "--dry" not in sys.argv:
            path.write_text(new)
    print("\n".join(rewriter.notes))
    print(len(moves), "modules")
    if "--dry" in sys.argv:
        return
    for old, new in sorted(moves.items(), key=lambda pair: -len(pair[0])):
        source, name = FILES[old], Rewriter._path(new)
        target = ROOT / (new.replace(".", "/") + ("/__init__.py" if source.name == "__init__.py" else ".py"))
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.check_call(["git", "mv", str(source), str(target)])


if __name__ == "__main__":
    main()
