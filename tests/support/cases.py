"""Which of many cases the quick tests try; the long checks try all of them, on both databases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sparing(cases: Iterable[Any], *few: str) -> list[Any]:
    """All cases in their order, as parameters; those that are not among the few are of the corpus. A
    case that is a parameter already, with marks of its own, stays as it is."""
    cases = list(cases)
    assert set(few) <= {case for case in cases if isinstance(case, str)}, few
    return [_of_corpus(case) if isinstance(case, str) and case not in few else case for case in cases]


def _of_corpus(case: str) -> Any:
    return pytest.param(case, marks=pytest.mark.corpus)
