"""Whatever arrives of one run, in whatever order, parts and repeats, comes to the same records: one capture by itself,
and two of the same run, live and from a file, or by two libraries."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from tests.support.inprocess import inline_service, open_database
from tests.support.whole_turns import client_of, differences, records
from tests.telemetry.reading import captures

RUNS: dict[str, Sequence[Callable[[], list[Span]]]] = {
    **{name: [partial(captures.spans, name)] for name in captures.names()},
    **{name: [partial(captures.session_spans, name)] for name in captures.sessions()},
    "claude_code live and file": [
        partial(captures.spans, "claude_code__two-turns"),
        partial(captures.session_spans, "claude_code"),
    ],
}
MAX_PARTS = 5
EXCEPTIONS = {"stored.turn.number": "a turn that left its session leaves a gap in the numbers"}
"""Why a field of the record, or a column, may differ."""


@pytest.fixture(autouse=True)
def _open(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker), inline_service():
        yield


@pytest.mark.parametrize("name", RUNS)
def test_order_parts_and_repeats_make_no_difference(name: str) -> None:
    whole = [span for spans in RUNS[name] for span in spans()]
    at_once = told("at once", [whole])
    expected = records(at_once)
    for seed in range(2):
        chance = random.Random(f"{name} {seed}")
        client = told(f"in parts {seed}", parts(whole, chance))
        lines = list(differences(expected, records(client), EXCEPTIONS))
        assert not lines, "\n".join(lines)


def parts(spans: Sequence[Span], chance: random.Random) -> list[list[Span]]:
    """These spans in any order and several requests, some of them twice: begun before, or once more."""
    several = [one for span in spans for one in again(span, chance)]
    chance.shuffle(several)
    ends = sorted(chance.randrange(len(several) + 1) for _ in range(chance.randrange(1, MAX_PARTS)))
    return [several[start:end] for start, end in zip([0, *ends], [*ends, len(several)], strict=True)]


def again(span: Span, chance: random.Random) -> list[Span]:
    begun = msgspec.structs.replace(span, end_ns=0, failed=False, message="", attributes={}, events=[])
    choices = [[span], [span, msgspec.structs.replace(span)]]
    # log records and lines of files are never only begun
    return chance.choice(choices if span.is_log or span.format != "otlp" else [*choices, [begun, span]])


def told(name: str, requests: Sequence[list[Span]]) -> Client:
    """A user who reports these requests, each made into turns before the next one comes."""
    client = client_of(name)
    actor: Actor = keys.of_user(User.objects.get(username=name))
    for spans in requests:
        if spans:
            inbox.accept(actor, [msgspec.structs.replace(span) for span in spans])
            projector.wake()
    return client
