"""The catalogues of the pages' words: ``make messages`` takes them from the code and compiles them.

Words stand in Python, in the Jinja2 templates, in Django's of the admin, and in the table of query
fields, which knows no gettext. ``agents/locale/<language>/LC_MESSAGES/django.po`` is what is translated, the
``.mo`` beside it what Django reads; both are kept, so that a fresh clone needs no tool and no network.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import django
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_python
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize
from jinja2 import Environment

from agents.query.fields import FIELDS
from tests import ROOT

LOCALE = ROOT / "agents" / "locale"
LANGUAGES = ("de", "fr")

PLURAL = ("ngettext", "ngettext_lazy")
CALLS = ("_", "_now", "gettext", "gettext_lazy", "gettext_noop", *PLURAL)
_LITERAL = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CALL = re.compile(rf"(?<!\w)(_|[np]?gettext)\(\s*({_LITERAL}(?:\s*,\s*{_LITERAL})*)\s*(?:,\s*count\s*)?\)")

Words = str | tuple[str, str]
"""Of one number; or of one, and of many."""


class Message(NamedTuple):
    """What is to be translated, and the file it stands in. ``context`` tells apart what English says
    with the same word."""

    place: str
    words: Words
    context: str | None = None


def messages() -> Iterator[Message]:
    """Every message of the project."""
    for path in _files("agents", "*.py"):
        yield from _of_python(path)
    for path in _files("agents/templates", "*.html"):
        yield from _of_django(path)
    for path in _files("templates", "*.html"):
        yield from _of_jinja(path)
    for field in FIELDS.values():
        yield Message("agents/record/catalogue.py", field.help)
        for phrase in field.phrase.split("|"):
            yield Message("agents/record/catalogue.py", phrase)


def _files(folder: str, pattern: str) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob(pattern)) if "migrations" not in path.parts]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _words(found: Any) -> Words | None:
    """The literals of a call; None where it is called with something else."""
    said = [each for each in found if isinstance(each, str)] if isinstance(found, tuple | list) else [found]
    if not said or not said[0]:
        return None
    return (said[0], said[1]) if len(said) > 1 else said[0]


def _of_python(path: Path) -> Iterator[Message]:
    with path.open("rb") as source:
        for _line, call, found, _comments in extract_python(source, dict.fromkeys(CALLS), (), {}):
            if (words := _words(found)) and isinstance(words, tuple) == (call in PLURAL):
                yield Message(_name(path), words)


def _of_jinja(path: Path) -> Iterator[Message]:
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.i18n"])
    for _line, call, found in environment.extract_translations(path.read_text()):  # type: ignore[attr-defined]  # of the extension
        if call == "pgettext":
            yield Message(_name(path), found[1], context=found[0])
        elif words := _words(found):
            yield Message(_name(path), words)


def _of_django(path: Path) -> Iterator[Message]:
    for call, literals in _CALL.findall(templatize(path.read_text())):
        found = ast.literal_eval(f"({literals},)")
        if call == "pgettext":
            yield Message(_name(path), found[1], context=found[0])
        elif words := _words(found):
            yield Message(_name(path), words)


# -------------------------------------------------------------------------------------------- catalogues


def po(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def read(language: str) -> Catalog:
    with po(language).open("rb") as file:
        return read_po(file, locale=language)


def template() -> Catalog:
    """All messages, untranslated."""
    made = Catalog(fuzzy=False)
    for place, words, context in sorted(messages(), key=attrgetter("place")):  # as they are written
        made.add(words, locations=[(place, 1)], context=context)
    return made


def compiled(catalog: Catalog) -> bytes:
    out = BytesIO()
    write_mo(out, catalog)
    return out.getvalue()


def written(catalog: Catalog) -> bytes:
    out = BytesIO()
    write_po(out, catalog, width=110, ignore_obsolete=True, include_lineno=False, sort_by_file=True)
    return out.getvalue()


def refresh(language: str) -> list[str]:
    """Bring a language's catalogue up to the code, and compile it; returns what has no translation."""
    catalog = read(language)
    catalog.update(template(), no_fuzzy_matching=True, update_header_comment=False, update_creation_date=False)
    po(language).write_bytes(written(catalog))
    po(language).with_suffix(".mo").write_bytes(compiled(catalog))
    return [str(message.id) for message in catalog if message.id and not all(_strings(message.string))]


def _strings(string: str | Sequence[str] | None) -> Sequence[str]:
    return (string or "",) if string is None or isinstance(string, str) else string


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()  # subjects add their query fields
    missing = {language: refresh(language) for language in LANGUAGES}
    for language, ids in missing.items():
        print(f"{language}: {len(ids)} to be translated", *ids, sep="\n  ")  # noqa: T201 - a command
    return int(any(missing.values()))


if __name__ == "__main__":
    sys.exit(main())
