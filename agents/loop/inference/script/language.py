"""Parses the script language: the text of a message into the actions of each round.

`agents.loop.inference.scripted` lists the commands. Text is used as it is, to the end of its line:
no quotes, no escapes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from agents.loop.inference.script.actions import (
    CallTool,
    Cut,
    End,
    Fail,
    ImpossibleAction,
    Repeat,
    Say,
    ScriptAction,
    Think,
    Wait,
)

MARK = "!script"
MAX_WAIT_S = 600.0
MAX_REPEATED_CHARS = 4 * 2**20

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(ms|s)")
_UNITS_S = {"ms": 0.001, "s": 1.0}


class ScriptError(ImpossibleAction):
    """A line of a script that cannot be parsed; the message has its number and the reason."""


def is_script(text: str) -> bool:
    """Whether a text begins with the word `MARK`."""
    return text.split(maxsplit=1)[:1] == [MARK]


def parse(text: str) -> list[list[ScriptAction]]:
    """Parse a script; returns the actions of each round. Raises ScriptError."""
    rounds: list[list[ScriptAction]] = [[]]
    # Split at \n alone: the other line ends of Unicode may be part of a text.
    for number, line in enumerate(text.lstrip().removeprefix(MARK).split("\n"), start=1):
        word, _, arguments = line.removesuffix("\r").lstrip().partition(" ")
        if word == "end":
            break
        if word == "then":
            rounds.append([])
        elif word and not word.startswith("#"):
            rounds[-1].append(_act(number, word, arguments))
    return rounds


def _act(number: int, word: str, arguments: str) -> ScriptAction:
    reader = _READERS.get(word)
    if reader is None:
        raise ScriptError(f"line {number} begins with {word[:40]!r}, which is none of {', '.join(_READERS)}, then, end")
    try:
        return reader(arguments)
    except ScriptError as error:
        raise ScriptError(f"line {number}: {error}") from None


def _call(arguments: str) -> CallTool:
    name, _, arguments_json = arguments.strip().partition(" ")
    if not name:
        raise ScriptError("call needs the name of a tool")
    return CallTool(name, arguments_json.strip() or "{}")


def _repeat(arguments: str) -> Repeat:
    count, _, text = arguments.strip().partition(" ")
    if not (count.isascii() and count.isdecimal() and len(count) <= 7 and text):
        raise ScriptError("repeat needs a count and a text")
    if int(count) * (len(text) + 1) > MAX_REPEATED_CHARS:
        raise ScriptError(f"repeat makes more than {MAX_REPEATED_CHARS} characters")
    return Repeat(int(count), text)


def _wait(arguments: str) -> Wait:
    duration = _DURATION.fullmatch(arguments.strip())
    if not duration:
        raise ScriptError("wait needs a time such as 20ms or 1.5s")
    seconds = float(duration[1]) * _UNITS_S[duration[2]]
    if seconds > MAX_WAIT_S:
        raise ScriptError(f"wait is limited to {MAX_WAIT_S:g} s")
    return Wait(seconds)


def _fail(arguments: str) -> Fail:
    status, _, message = arguments.strip().partition(" ")
    if status.isascii() and status.isdecimal() and len(status) == 3:
        return Fail(message or "failed as told", int(status))
    return Fail(arguments.strip() or "failed as told")


def _finish(arguments: str) -> End:
    if not arguments.strip():
        raise ScriptError("finish needs a reason")
    return End(arguments.strip())


def _bare(action: ScriptAction, arguments: str) -> ScriptAction:
    if arguments.strip():
        raise ScriptError("nothing may follow this word")
    return action


_READERS: dict[str, Callable[[str], ScriptAction]] = {
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
