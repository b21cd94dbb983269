"""Two servers on one PostgreSQL: what one of them spends, the other counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.live import two_servers
from tests.support.live.caller import Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import eventually

pytestmark = [*two_servers.MARKS, pytest.mark.timeout(300)]

PATH = "/v1/budgets"


@pytest.fixture(scope="module")
def callers(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[tuple[Caller, Caller]]:
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    with two_servers.two_servers(folders, held.environment) as (one, two):
        yield Caller(one.port), Caller(two.port)


def test_what_both_spend_is_counted_once(callers: tuple[Caller, Caller]) -> None:
    here, there = callers
    talk = Talk(here)
    far = Talk(there)
    far.agent, far.path = talk.agent, talk.path
    budget = f"{PATH}/{here.post(PATH, {'agent_id': talk.agent, 'tokens': 1_000_000}).json['id']}"

    def spent() -> int:
        return int(here.get(budget).json["spent_tokens"])

    assert talk.say("Hello").status == 200
    each = spent()
    assert each

    def is_known_there() -> bool:
        """The other server takes notice of the first budget of a kind within a second."""
        before = spent()
        assert far.say("Hello").status == 200
        return spent() > before

    eventually(is_known_there)
    for caller in (talk, far, far, talk):
        before = spent()
        assert caller.say("Hello").status == 200
        assert spent() > before
    here.post(budget, {"tokens": spent()})
    for caller in (far, talk):
        answer = caller.say("Hello")
        assert (answer.status, answer.json["error"]["code"]) == (429, "insufficient_quota")
    there.post(budget, {"tokens": 1_000_000})
    assert talk.say("Hello").status == far.say("Hello").status == 200
