"""The page /connect/ as somebody uses it who connects an SDK: the lines that are copied from it."""

from __future__ import annotations

import html
import re
import shlex

from tests.support.live.caller import Caller

_COPIED = re.compile(r"<code>(.*?)</code></pre>", re.DOTALL)


def copied(caller: Caller, way: str) -> list[str]:
    """The blocks of lines of a way, in order."""
    answer = caller.get(f"/connect/?with={way}")
    assert answer.status == 200, answer.body
    return [html.unescape(block) for block in _COPIED.findall(answer.body.decode())]


def variables(blocks: list[str]) -> dict[str, str]:
    """The variables that lines export."""
    lines = "\n".join(blocks).splitlines()
    said = [shlex.split(line.removeprefix("export ")) for line in lines if line.startswith("export ")]
    return dict(one.split("=", 1) for [one] in said)
