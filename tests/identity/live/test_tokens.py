"""People of an identity provider: what they make is theirs and their team's, over every door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.live import issuer as issuers
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.issuer import Issuer
from tests.support.live.process import ServerProcess, running
from tests.support.live.sockets import opened

pytestmark = pytest.mark.server

CLAIMS = {"groups": "teams", "project": "projects"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuers.serving() as made:
        yield made


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, data: Path, issuer: Issuer) -> Iterator[ServerProcess]:
    """A server for people of this issuer: who shares a team shares what they make."""
    keys = {"type": "jwks", "uri": f"{issuer.base}/keys", "issuer": issuer.base, "claims": CLAIMS}
    with running(tmp_path_factory.mktemp("guarded"), {"AUTH_PROVIDER": json.dumps(keys)}, data=data) as process:
        yield process


def caller(server: ServerProcess, token: str) -> Caller:
    return Caller(server.port, {"Authorization": f"Bearer {token}"})


def test_teams_see_their_own(guarded: ServerProcess, issuer: Issuer) -> None:
    ann, bob, eve = (
        caller(guarded, issuer.token(name, groups=[team]))
        for name, team in (("ann", "support"), ("bob", "support"), ("eve", "sales"))
    )
    talk = Talk(ann)
    turn = talk.say(script("say Only for us.")).json["turn_id"]
    assert talk.turn(turn)["status"] == "completed"
    for path in (talk.path, f"{talk.path}/turn/{turn}", f"/v1/agents/{talk.agent}"):
        assert eve.get(path).status == 404, path
    assert eve.get("/v1/agents").json["data"] == []
    assert turn not in str(eve.get("/v1/logs/turns").json)
    assert eve.post(f"{talk.path}/turn", {"messages": [{"role": "user", "content": "x"}]}).status == 404
    assert eve.delete(talk.path).status == 404
    assert caller(guarded, issuer.token("ann", groups=["support"])).get(talk.path).status == 200
    assert bob.get(talk.path).status == 200
    assert turn in str(bob.get("/v1/logs/turns").json)


# What follows was executed against Llama Stack 0.2.12: each of these let somebody in, or nobody.


def test_who_has_no_attributes_shares_with_nobody(guarded: ServerProcess, issuer: Issuer) -> None:
    talk = Talk(caller(guarded, issuer.token("lone")))
    other, member = caller(guarded, issuer.token("other")), caller(guarded, issuer.token("m", groups=["support"]))
    assert talk.caller.get(talk.path).status == 200
    assert [each.get(talk.path).status for each in (other, member)] == [404, 404]


def test_one_category_in_common_is_not_enough(guarded: ServerProcess, issuer: Issuer) -> None:
    talk = Talk(caller(guarded, issuer.token("ann", groups=["blue"], project="apollo")))
    near = caller(guarded, issuer.token("near", groups=["blue"], project="gemini"))
    same = caller(guarded, issuer.token("same", groups=["blue", "red"], project="apollo"))
    assert [each.get(talk.path).status for each in (near, same)] == [404, 200]


def test_a_strangers_sessions_are_not_listed(guarded: ServerProcess, issuer: Issuer) -> None:
    talk = Talk(caller(guarded, issuer.token("ann", groups=["list"])))
    stranger = caller(guarded, issuer.token("stranger", groups=["other"]))
    assert stranger.get(f"/v1/agents/{talk.agent}/sessions").status == 404
    assert talk.session in str(talk.caller.get(f"/v1/agents/{talk.agent}/sessions").json)


@pytest.mark.parametrize("team", ["o'brien", "%", "_", "*", "a,b", '"', "\\", "'); DROP TABLE agents_turn; --"])
def test_a_team_is_a_name_and_nothing_else(guarded: ServerProcess, issuer: Issuer, team: str) -> None:
    Talk(caller(guarded, issuer.token("ann", groups=["everybody else"]))).say(script("say Ours."))
    odd = caller(guarded, issuer.token(f"odd {team}", groups=[team]))
    listed = odd.get("/v1/agents").json
    assert (listed["data"], listed["has_more"]) == ([], False)
    talk = Talk(odd)
    assert talk.agent in str(caller(guarded, issuer.token("mate", groups=[team])).get("/v1/agents").json)


def test_a_page_is_full_of_what_may_be_seen(guarded: ServerProcess, issuer: Issuer) -> None:
    mine, theirs = (caller(guarded, issuer.token(name, groups=[name])) for name in ("few", "many"))
    agents = [Talk(mine).agent]
    for _ in range(12):
        Talk(theirs)
    agents.append(Talk(mine).agent)
    page = mine.get("/v1/agents?limit=10").json
    assert [one["agent_id"] for one in page["data"]] == agents[::-1]
    assert page["has_more"] is False


def test_without_a_good_token_there_is_nothing(guarded: ServerProcess, issuer: Issuer) -> None:
    for token in ("none", issuer.token("ann", exp=1), issuer.token("ann", aud="else"), "ask_" + "x" * 49):
        answer = caller(guarded, token).get("/v1/agents")
        assert answer.status == 401, token
        assert token not in str(answer.json)
    assert Caller(guarded.port).get("/v1/agents").status == 401
    assert Caller(guarded.port).get("/v1/health").status == 200


def test_a_socket_takes_tokens_too(guarded: ServerProcess, issuer: Issuer) -> None:
    talk = Talk(caller(guarded, issuer.token("ann", groups=["support"])))
    turn = talk.say(script("say Hello.")).json["turn_id"]
    with opened(guarded, {"Authorization": f"Bearer {issuer.token('ann', groups=['support'])}"}) as socket:
        socket.subscribe(f"turn:{turn}")
        assert socket.to_op("end")
    with opened(guarded, {"Authorization": f"Bearer {issuer.token('eve', groups=['sales'])}"}) as socket:
        socket.subscribe(f"turn:{turn}")
        assert "not found" in socket.refusal()["message"]
    with opened(guarded, {"Authorization": "Bearer none"}) as socket:
        assert socket.closed() == 4401
