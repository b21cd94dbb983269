"""Numbers that took long to count are shown again for a while, and say how old they are."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from django.test import Client
from pytest_django import Settings

from agents.base.access import Actor, system
from agents.base.store import keys
from agents.uikit import kept_numbers as module
from agents.uikit.kept_numbers import Counted, KeptNumbers, kept_numbers
from tests.support.pages.logged_turns import log_turn, make_session
from tests.support.pages.markup import words

pytestmark = pytest.mark.django_db

READER = Actor("reader", user_id=1, actions=frozenset({"read"}))


class Passing:
    """A clock on which each count takes ``cost_s``."""

    def __init__(self, cost_s: float) -> None:
        self.now, self.cost_s, self.counts = 0.0, cost_s, 0

    def __call__(self) -> float:
        return self.now

    def count(self) -> int:
        self.now += self.cost_s
        self.counts += 1
        return self.counts


def started(clock: Passing) -> KeptNumbers:
    """Those of a process that has counted something already."""
    kept = KeptNumbers(clock)
    kept.counted(READER, "anything", "", lambda: 0)
    return kept


@pytest.fixture(autouse=True)
def _kept(settings: Settings) -> None:
    settings.NUMBERS_MAX_AGE_SECONDS = 30


@pytest.mark.parametrize(("cost_s", "max_age_s"), [(0.2, 4), (1.5, 30), (4, 30)])
def test_they_are_kept_in_proportion_to_their_cost(cost_s: float, max_age_s: float) -> None:
    clock = Passing(cost_s)
    kept = started(clock)
    assert kept.counted(READER, "turn", "", clock.count) == Counted(1, 0, 0)
    clock.now += max_age_s - 1.5
    assert kept.counted(READER, "turn", "", clock.count) == Counted(1, int(max_age_s - 1.5), 2)
    clock.now += 1.5
    assert kept.counted(READER, "turn", "", clock.count) == Counted(2, 0, 0)


def test_what_is_counted_fast_is_counted_anew() -> None:
    clock = Passing(0.09)
    kept = started(clock)
    assert [kept.counted(READER, "turn", "", clock.count).numbers for _ in range(3)] == [1, 2, 3]


def test_who_sees_other_rows_gets_other_numbers() -> None:
    clock = Passing(2)
    kept = started(clock)
    readers = [
        READER,
        replace(READER, user_id=2),
        system("test"),
        replace(READER, name="another name"),
        system("other"),
    ]
    assert [kept.counted(reader, "turn", "", clock.count).numbers for reader in readers] == [1, 2, 3, 1, 3]
    assert kept.counted(READER, "turn", "status:failed", clock.count).numbers == 4
    assert kept.counted(READER, "step", "", clock.count).numbers == 5


def test_after_a_change_of_the_readers_own_they_are_counted_anew() -> None:
    clock = Passing(2)
    kept = started(clock)
    kept.counted(READER, "turn", "", clock.count)
    kept.forget()
    assert kept.counted(READER, "turn", "", clock.count).numbers == 2


def test_what_fails_is_not_kept() -> None:
    clock = Passing(2)
    kept = started(clock)
    with pytest.raises(ZeroDivisionError):
        kept.counted(READER, "turn", "", lambda: 1 // 0)
    assert kept.counted(READER, "turn", "", clock.count) == Counted(1, 0, 0)


def test_the_first_of_a_process_are_not_kept() -> None:
    clock = Passing(2)
    kept = KeptNumbers(clock)
    assert [kept.counted(READER, "turn", "", clock.count).numbers for _ in range(3)] == [1, 2, 2]


def test_what_the_first_of_a_process_cost_says_nothing_of_the_next() -> None:
    clock = Passing(2)
    kept = KeptNumbers(clock)
    kept.counted(READER, "turn", "", clock.count)
    assert not kept.take_long("turn")
    kept.counted(READER, "turn", "", clock.count)
    assert kept.take_long("turn")


def test_those_that_were_asked_for_least_recently_go_first() -> None:
    clock = Passing(2)
    kept = started(clock)
    for number in range(module.MAX_KEPT + 1):
        kept.counted(READER, "turn", number, clock.count)
        clock.now = 0  # so that none ends by its age
    assert kept.counted(READER, "turn", module.MAX_KEPT, clock.count).numbers == module.MAX_KEPT + 1
    assert kept.counted(READER, "turn", 0, clock.count).numbers == module.MAX_KEPT + 2


def test_who_asks_at_the_same_time_waits_for_one_count() -> None:
    clock = Passing(2)
    kept = started(clock)
    first_counts, others_ask = threading.Event(), threading.Event()
    got: list[int] = []

    def slowly() -> int:
        first_counts.set()
        assert others_ask.wait(20)
        return clock.count()

    def ask() -> None:
        got.append(kept.counted(system("test"), "turn", "", slowly).numbers)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    threads[0].start()
    assert first_counts.wait(20)
    for thread in threads[1:]:
        thread.start()
    others_ask.set()
    for thread in threads:
        thread.join(20)
    assert got == [1] * 4


# ------------------------------------------------------------------------------------------ on pages


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> Passing:
    """A clock of the process on which each look takes two seconds: so does each count."""

    class Slow(Passing):
        def __call__(self) -> float:
            self.now += self.cost_s
            return self.now

    clock = Slow(2)
    monkeypatch.setattr(kept_numbers, "_clock", clock)
    monkeypatch.setattr(kept_numbers, "_costs", {})
    monkeypatch.setattr(kept_numbers, "_has_counted", True)
    kept_numbers.forget()
    return clock


PAGES = ["/logs/", "/sessions/", "/steps/", "/responses/", "/", "/agents/"]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_without_scripts_links_to_numbers_that_take_long(client: Client, slow_clock: Passing, path: str) -> None:
    me = keys.local()
    session = make_session(me)
    log_turn(me, session, "What is in stock?")
    first = client.get(path).content.decode()
    assert "this takes a moment" not in first
    assert "data-again" not in first
    later = client.get(f"{path}?q=stock" if path not in {"/", "/agents/"} else path).content.decode()
    assert "this takes a moment" in later
    assert "numbers=1" in later
    counted = client.get(path, {"numbers": "1"}).content.decode()
    assert "this takes a moment" not in counted
    assert "counted 2.0 s ago" in words(counted)
    assert "data-again=" in counted


def test_a_script_gets_them_with_their_age(client: Client, slow_clock: Passing) -> None:
    client.cookies["tz"] = "UTC"
    fresh = client.get("/logs/numbers/?level=turn").content.decode()
    assert "data-again" not in fresh
    assert "ago" not in words(fresh)
    kept = client.get("/logs/numbers/?level=turn").content.decode()
    assert 'data-again="29"' in kept
    assert "counted 2.0 s ago" in words(kept)


def test_what_a_reader_changes_on_a_page_is_counted_at_once(client: Client, slow_clock: Passing) -> None:
    client.get("/logs/numbers/?level=turn")
    client.post(
        "/language/", {"language": "en", "next": "/logs/"}
    )  # which anybody may, and changes nothing that is counted
    assert "data-again" in client.get("/logs/numbers/?level=turn").content.decode()
    assert client.post("/agents/new/", {"name": "new", "model": "demo", "instructions": ""}).status_code == 302
    assert "data-again" not in client.get("/logs/numbers/?level=turn").content.decode()
