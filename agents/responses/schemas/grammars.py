"""Checks the grammars of custom tools: that they can be read, not what they match."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_GRAMMAR = 64 * 1024
"""Characters of a grammar."""
_BEYOND_LARK = re.compile(r"^\s*%llguidance\b|%(?:json|regex|lark)\s*[{(]|^[?!]*\w+\[", re.MULTILINE)
"""What OpenAI's reader of grammars adds to Lark's language: options, JSON schemas as rules, attributes of rules."""
_START = re.compile(r"^[?!]*start(?:\.-?\d+|\[[^\]\n]*\])?\s*:", re.MULTILINE)


@lru_cache(maxsize=64)
def fault(syntax: str, definition: str) -> str | None:
    """What is wrong with a grammar, in a line; None if it can be read. Clients send the same ones with each request."""
    return _expression_fault(definition) if syntax == "regex" else _lark_fault(definition)


def _expression_fault(expression: str) -> str | None:
    import re2  # only requests with such tools need its library

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(expression, options)
    except (re2.error, UnicodeEncodeError) as error:
        return f"not a regular expression: {error}"
    return None


def _lark_fault(grammar: str) -> str | None:
    """Read the rules as Lark does, and see that each one that is used is there. They are not compiled, which for some
    short grammars takes for ever."""
    from lark.exceptions import LarkError  # as re2: only such requests need it
    from lark.load_grammar import GrammarBuilder

    if not _START.search(grammar):
        return "a Lark grammar needs a rule 'start'"
    if _BEYOND_LARK.search(grammar):
        return None
    builder = GrammarBuilder(import_paths=[_imported])
    try:
        builder.load_grammar(grammar, "definition")
        builder.validate()
    except LarkError as error:
        reason = " ".join(str(error).partition("\n")[0].split())
        return f"not a Lark grammar: {reason.removesuffix(' in definition:')}"
    except RecursionError:
        return "not a Lark grammar: nested too deeply"
    return None


def _imported(folder: str | None, path: str) -> tuple[object, str]:
    """Return a grammar that another one imports: of those that Lark brings, the common terminals; never a file."""
    from lark.exceptions import GrammarError
    from lark.load_grammar import stdlib_loader

    if folder is not None or path != "common.lark":
        raise GrammarError("only %import common can be used")
    return stdlib_loader(folder, path)
