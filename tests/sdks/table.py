"""The table of the documentation: what each SDK reports, as its ``expected.toml`` says and the trial holds."""

from __future__ import annotations

from tests.sdks.trial import HERE, Expected
from tests.support.live.program_environments import Program, programs

BEGIN, END = "<!-- what each SDK reports -->\n", "<!-- end -->\n"
_COLUMNS: dict[str, tuple[str, ...]] = {
    "agent": ("agent",),
    "session": ("session", "one_session"),
    "question, answer": ("input", "output", "waits"),
    "calls of tools": ("steps", "call", "arguments", "link"),
    "results": ("result", "failure_text"),
    "failures": ("failure",),
    "model": ("model",),
    "tokens": ("tokens", "step_tokens"),
}
"""The columns, and the facts of `tests.sdks.facts` that each stands for."""


def table() -> str:
    """Return a row for each SDK: ``+`` where all its facts arrive, else a number; the reasons follow by numbers."""
    reasons: list[str] = []
    rows = [_row(program, reasons) for program in programs(HERE, "sdk").values()]
    head = f"| program | {' | '.join(_COLUMNS)} |\n|{' --- |' * (1 + len(_COLUMNS))}\n"
    return head + "".join(rows) + "\n" + "\n".join(f"{number}. {text}" for number, text in enumerate(reasons, 1)) + "\n"


def _row(program: Program, reasons: list[str]) -> str:
    expected = Expected.of(program.name)
    missing = _reasons(expected)
    cells = [
        " ".join(_numbers([missing[name] for name in names if name in missing], reasons)) for names in _COLUMNS.values()
    ]
    return f"| `{program.name}`: {program.version} | {' | '.join(cell or '+' for cell in cells)} |\n"


def _reasons(expected: Expected) -> dict[str, str]:
    """Return why facts are missing; "the same" is the reason before."""
    missing: dict[str, str] = {}
    reason = ""
    for name, text in expected.missing.items():
        reason = reason if text == "the same" else text
        missing[name] = reason
    if not expected.session:
        missing.setdefault("session", "it names no session")
    return missing


def _numbers(missing: list[str], reasons: list[str]) -> list[str]:
    """Return the numbers of reasons, each once."""
    for reason in missing:
        if reason not in reasons:
            reasons.append(reason)
    return [str(reasons.index(reason) + 1) for reason in dict.fromkeys(missing)]


def with_table(page: str) -> str:
    """Return a page of the documentation with this table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"
