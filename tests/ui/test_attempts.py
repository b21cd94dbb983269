"""Counting wrong passwords: five for an account, twenty for an address, within five minutes."""

from __future__ import annotations

import pytest

from agents.errors import RateLimited
from agents.ui import attempts as module
from agents.ui.attempts import Attempts


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def counter(seconds: Seconds) -> Attempts:
    return Attempts(seconds)


def fail(counter: Attempts, times: int, account: str = "rita", address: str = "10.0.0.1") -> None:
    for number in range(times):
        counter.begin(account.format(number), address.format(number))


def test_the_sixth_for_an_account_is_refused_wherever_it_comes_from(counter: Attempts) -> None:
    fail(counter, 5, address="10.0.0.{}")
    with pytest.raises(RateLimited, match="Try again in 5 minutes"):
        counter.begin("rita", "10.9.9.9")
    counter.begin("ada", "10.9.9.9")


def test_it_says_when_to_come_back(counter: Attempts, seconds: Seconds) -> None:
    fail(counter, 5)
    seconds.now += 200
    with pytest.raises(RateLimited) as refused:
        counter.begin("rita", "10.0.0.1")
    assert refused.value.headers == {"Retry-After": "100"}
    assert refused.value.status == 429
    seconds.now += 100
    counter.begin("rita", "10.0.0.1")


def test_the_twenty_first_from_an_address_is_refused_whoever_it_is(counter: Attempts) -> None:
    fail(counter, 20, account="user-{}")
    with pytest.raises(RateLimited):
        counter.begin("someone else", "10.0.0.1")
    counter.begin("someone else", "10.0.0.2")


def test_a_refused_attempt_does_not_prolong_the_wait(counter: Attempts, seconds: Seconds) -> None:
    fail(counter, 5)
    seconds.now += 299
    for _ in range(10):
        with pytest.raises(RateLimited):
            counter.begin("rita", "10.0.0.1")
    seconds.now += 1
    counter.begin("rita", "10.0.0.1")


def test_what_is_taken_back_does_not_count(counter: Attempts) -> None:
    for _ in range(50):
        counter.begin("rita", "10.0.0.1")
        counter.take_back("rita", "10.0.0.1")
    fail(counter, 4)
    counter.begin("rita", "10.0.0.1")
    with pytest.raises(RateLimited):
        counter.begin("rita", "10.0.0.1")


def test_attempts_at_once_all_count(counter: Attempts) -> None:
    """They are counted when they begin: none is free because another has not ended."""
    fail(counter, 5)
    with pytest.raises(RateLimited):
        counter.begin("rita", "10.0.0.1")


@pytest.mark.parametrize("spelling", ["RITA", "Rita", "\uff52ita"])
def test_an_account_is_the_same_in_any_spelling(counter: Attempts, spelling: str) -> None:
    fail(counter, 5)
    with pytest.raises(RateLimited):
        counter.begin(spelling, "10.0.0.2")


def test_a_network_of_ipv6_counts_as_one_address(counter: Attempts) -> None:
    fail(counter, 20, account="user-{}", address="2001:db8::{}")
    with pytest.raises(RateLimited):
        counter.begin("x", "2001:db8::ffff")
    counter.begin("x", "2001:db8:0:1::1")


def test_an_ipv4_address_is_itself_in_ipv6_clothes(counter: Attempts) -> None:
    fail(counter, 20, account="user-{}", address="10.0.0.1")
    with pytest.raises(RateLimited):
        counter.begin("x", "::ffff:10.0.0.1")
    counter.begin("x", "::ffff:10.0.0.2")


@pytest.mark.parametrize("address", ["", "no address", "x" * 10_000])
def test_an_odd_address_is_counted_too(counter: Attempts, address: str) -> None:
    fail(counter, 20, account="user-{}", address=address)
    with pytest.raises(RateLimited):
        counter.begin("x", address)


def test_its_memory_is_bounded(counter: Attempts) -> None:
    fail(counter, module.REMEMBERED, account="user-{}", address="2001:db8:{0:x}::1")
    assert len(counter._failed) <= module.REMEMBERED
    fail(counter, 5, account="the newest")
    with pytest.raises(RateLimited):
        counter.begin("the newest", "10.1.1.1")
