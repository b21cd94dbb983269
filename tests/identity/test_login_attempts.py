"""Counting wrong passwords: whom they slow, and for how long."""

from __future__ import annotations

import pytest

from agents.base.errors import RateLimited
from agents.identity.pages import login_attempts as module
from agents.identity.pages.login_attempts import LoginAttempts, LoginSource


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def counter(seconds: Seconds) -> LoginAttempts:
    return LoginAttempts(seconds)


def begin(counter: LoginAttempts, account: str, address: str) -> None:
    counter.begin(LoginSource(account, address))


def fail(counter: LoginAttempts, times: int, account: str = "rita", address: str = "10.0.0.1") -> None:
    for number in range(times):
        begin(counter, account.format(number), address.format(number))


def test_the_sixth_from_an_address_is_refused_and_others_are_not(counter: LoginAttempts) -> None:
    fail(counter, 5)
    with pytest.raises(RateLimited, match="Try again in 5 minutes"):
        begin(counter, "rita", "10.0.0.1")
    begin(counter, "rita", "10.9.9.9")
    begin(counter, "ada", "10.0.0.1")


def wait(counter: LoginAttempts, account: str, address: str) -> int:
    """Seconds that one is told to wait; 0 for one who need not."""
    try:
        begin(counter, account, address)
    except RateLimited as refused:
        return int(refused.headers["Retry-After"])
    return 0


@pytest.mark.parametrize("spread", [{"account": "user-{}"}, {"address": "10.0.0.{}"}])
def test_an_address_and_an_account_are_slowed_more_and_more(
    counter: LoginAttempts, seconds: Seconds, spread: dict[str, str]
) -> None:
    fail(counter, 20, **spread)
    waits = []
    for number in range(6):
        who = {"account": "rita", "address": "10.0.0.1", **{name: f"new-{number}" for name in spread}}
        waits.append(wait(counter, **who))
        seconds.now += waits[-1]
        assert wait(counter, **who) == 0
    assert waits == [5, 10, 20, 40, 60, 60]


def test_an_hour_of_guesses_from_everywhere_is_bounded(counter: LoginAttempts, seconds: Seconds) -> None:
    tried = 0
    for number in range(3600):
        tried += wait(counter, "rita", f"10.{number >> 8}.{number & 255}.1") == 0
        seconds.now += 1
    assert tried < 90


def test_a_known_device_is_counted_alone(counter: LoginAttempts) -> None:
    mine = LoginSource("rita", "10.0.0.1", device="hers")
    fail(counter, 5)
    fail(counter, 15, address="10.0.1.{}")
    for _ in range(10):
        counter.begin(mine)
    with pytest.raises(RateLimited):
        counter.begin(mine)
    counter.begin(LoginSource("rita", "10.0.0.1", device="her other"))


def test_it_says_when_to_come_back(counter: LoginAttempts, seconds: Seconds) -> None:
    fail(counter, 5)
    seconds.now += 200
    with pytest.raises(RateLimited) as refused:
        begin(counter, "rita", "10.0.0.1")
    assert refused.value.headers == {"Retry-After": "100"}
    assert refused.value.status == 429
    seconds.now += 100
    begin(counter, "rita", "10.0.0.1")


def test_the_twenty_first_from_an_address_is_refused_whoever_it_is(counter: LoginAttempts) -> None:
    fail(counter, 20, account="user-{}")
    with pytest.raises(RateLimited):
        begin(counter, "someone else", "10.0.0.1")
    begin(counter, "someone else", "10.0.0.2")


def test_a_refused_attempt_does_not_prolong_the_wait(counter: LoginAttempts, seconds: Seconds) -> None:
    fail(counter, 5)
    seconds.now += 299
    for _ in range(10):
        with pytest.raises(RateLimited):
            begin(counter, "rita", "10.0.0.1")
    seconds.now += 1
    begin(counter, "rita", "10.0.0.1")


def test_what_is_taken_back_does_not_count(counter: LoginAttempts) -> None:
    for _ in range(50):
        begin(counter, "rita", "10.0.0.1")
        counter.take_back(LoginSource("rita", "10.0.0.1"))
    fail(counter, 4)
    begin(counter, "rita", "10.0.0.1")
    with pytest.raises(RateLimited):
        begin(counter, "rita", "10.0.0.1")


def test_attempts_at_once_all_count(counter: LoginAttempts) -> None:
    """They are counted when they begin: none is free because another has not ended."""
    fail(counter, 5)
    with pytest.raises(RateLimited):
        begin(counter, "rita", "10.0.0.1")


@pytest.mark.parametrize("spelling", ["RITA", "Rita", "\uff52ita"])
def test_an_account_is_the_same_in_any_spelling(counter: LoginAttempts, spelling: str) -> None:
    fail(counter, 5)
    with pytest.raises(RateLimited):
        begin(counter, spelling, "10.0.0.1")


def test_a_network_of_ipv6_counts_as_one_address(counter: LoginAttempts) -> None:
    fail(counter, 20, account="user-{}", address="2001:db8::{}")
    with pytest.raises(RateLimited):
        begin(counter, "x", "2001:db8::ffff")
    begin(counter, "x", "2001:db8:0:1::1")


def test_an_ipv4_address_is_itself_in_ipv6_clothes(counter: LoginAttempts) -> None:
    fail(counter, 20, account="user-{}", address="10.0.0.1")
    with pytest.raises(RateLimited):
        begin(counter, "x", "::ffff:10.0.0.1")
    begin(counter, "x", "::ffff:10.0.0.2")


@pytest.mark.parametrize("address", ["", "no address", "x" * 10_000])
def test_an_odd_address_is_counted_too(counter: LoginAttempts, address: str) -> None:
    fail(counter, 20, account="user-{}", address=address)
    with pytest.raises(RateLimited):
        begin(counter, "x", address)


def test_its_memory_is_bounded(counter: LoginAttempts) -> None:
    fail(counter, module.MAX_COUNTS, account="user-{}", address="2001:db8:{0:x}::1")
    assert len(counter._failed) <= module.MAX_COUNTS
    fail(counter, 5, account="the newest")
    with pytest.raises(RateLimited):
        begin(counter, "the newest", "10.0.0.1")
