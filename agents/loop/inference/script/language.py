"""The script language: the text of a message to the acts of each round.

The words are listed in `agents.loop.inference.scripted`. Text is taken as it is, to the end
of its line: no quotes, no escapes. Nothing is performed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from agents.loop.inference.script.actions import Act, Call, CannotAct, Cut, End, Fail, Repeat, Say, Think, Wait

MARK = "!script"
MAX_WAIT_S = 600.0
MAX_REPEATED_CHARS = 4 * 2**20

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(ms|s)")
_UNITS_S = {"ms": 0.001, "s": 1.0}


class ScriptError(CannotAct):
    """A line that cannot be read; the message says which and why."""


def is_script(text: str) -> bool:
    """Whether the first word is the mark."""
    return text.split(maxsplit=1)[:1] == [MARK]


def parse(text: str) -> list[list[Act]]:
    """The acts of each round, in order. Raises ScriptError."""
    rounds: list[list[Act]] = [[]]
    # Split at \n alone: the other line ends of Unicode may stand in a text that is to be said.
    for number, line in enumerate(text.lstrip().removeprefix(MARK).split("\n"), start=1):
        word, _, rest = line.removesuffix("\r").lstrip().partition(" ")
        if word == "end":
            break
        if word == "then":
            rounds.append([])
        elif word and not word.startswith("#"):
            rounds[-1].append(_act(number, word, rest))
    return rounds


def _act(number: int, word: str, rest: str) -> Act:
    reader = _READERS.get(word)
    if reader is None:
        raise ScriptError(f"line {number} begins with {word[:40]!r}, which is none of {', '.join(_READERS)}, then, end")
    try:
        return reader(rest)
    except ScriptError as error:
        raise ScriptError(f"line {number}: {error}") from None


def _call(rest: str) -> Call:
    name, _, arguments = rest.strip().partition(" ")
    if not name:
        raise ScriptError("call needs the name of a tool")
    return Call(name, arguments.strip() or "{}")


def _repeat(rest: str) -> Repeat:
    count, _, text = rest.strip().partition(" ")
    if not (count.isascii() and count.isdecimal() and len(count) <= 7 and text):
        raise ScriptError("repeat needs a count and a text")
    if int(count) * (len(text) + 1) > MAX_REPEATED_CHARS:
        raise ScriptError(f"repeat makes more than {MAX_REPEATED_CHARS} characters")
    return Repeat(int(count), text)


def _wait(rest: str) -> Wait:
    found = _DURATION.fullmatch(rest.strip())
    if not found:
        raise ScriptError("wait needs a time such as 20ms or 1.5s")
    seconds = float(found[1]) * _UNITS_S[found[2]]
    if seconds > MAX_WAIT_S:
        raise ScriptError(f"wait is limited to {MAX_WAIT_S:g} s")
    return Wait(seconds)


def _fail(rest: str) -> Fail:
    status, _, message = rest.strip().partition(" ")
    if status.isascii() and status.isdecimal() and len(status) == 3:
        return Fail(message or "failed as told", int(status))
    return Fail(rest.strip() or "failed as told")


def _finish(rest: str) -> End:
    if not rest.strip():
        raise ScriptError("finish needs a reason")
    return End(rest.strip())


def _bare(act: Act, rest: str) -> Act:
    if rest.strip():
        raise ScriptError("nothing may follow this word")
    return act


_READERS: dict[str, Callable[[str], Act]] = {
    "say": Say,
    "repeat": _repeat,
    "think": Think,
    "call": _call,
    "wait": _wait,
    "fail": _fail,
    "finish": _finish,
    "length": partial(_bare, End("length")),
    "cut": partial(_bare, Cut()),
}
