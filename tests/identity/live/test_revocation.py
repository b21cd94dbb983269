"""Access that is taken away ends what is open: streams, answers that are waited for, sockets, and runs.

Each case takes some seconds: rights are looked at every two."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.support.live import issuer as issuers
from tests.support.live import response_socket
from tests.support.live.caller import Caller, Talk, script, user
from tests.support.live.issuer import Issuer
from tests.support.live.process import ServerProcess, eventually, running
from tests.support.live.sockets import opened

pytestmark = pytest.mark.server

WITHIN_S = 10.0
LONG = script("say Hello.", "wait 60s", "say Too late.")
SETUP = """
import json
from django.contrib.auth.models import Group
from agents.models import GroupAttributes, User
from agents.base.store import keys
secrets = {}
for name in %r:
    user = User.objects.create_user(name)
    group = Group.objects.create(name=name)
    GroupAttributes.objects.create(group=group, attributes={"teams": ["red"]})
    user.groups.add(group)
    secrets[name] = keys.create(keys.of_user(user), name="a key", actions=["read", "run", "manage"])[1]
print(json.dumps(secrets))
"""
KEY = "from agents.models import ApiKey; rows = ApiKey.objects.filter(user__username={name!r}); "
USER = "from agents.models import User; rows = User.objects.filter(username={name!r}); "
NOW = "from django.utils.timezone import now; "
LOSSES = {
    "its user is switched off": USER + "rows.update(is_active=False)",
    "its user is deleted": USER + "rows.get().delete()",
    "the key is revoked": KEY + NOW + "rows.update(revoked_at=now())",
    "the key is deleted": KEY + "rows.delete()",
    "it may do less": KEY + "rows.update(actions=['manage'])",
}
"""After these the actor may not run."""
CHANGES = {
    "the key expires": KEY + NOW + "rows.update(expires_at=now())",
    "its team is another": "from agents.models import GroupAttributes; "
    "GroupAttributes.objects.filter(group__name={name!r}).update(attributes={{'teams': ['blue']}})",
}
"""After these it may, with other rights or another key."""
PEOPLE = ["everything", "steady", "listener", *LOSSES, *CHANGES]


@dataclass(frozen=True)
class Place:
    server: ServerProcess
    secrets: dict[str, str]
    issuer: Issuer

    def caller(self, name: str) -> Caller:
        return Caller(self.server.port, self.headers(name))

    def headers(self, name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secrets[name]}"}

    def lose(self, name: str, how: str) -> float:
        """Do this to somebody; returns the moment after which nothing may go on."""
        self.server.shell(how.format(name=name))
        return time.monotonic() + WITHIN_S


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[Place]:
    with issuers.serving() as issuer:
        keys = {"type": "jwks", "uri": f"{issuer.base}/keys", "issuer": issuer.base, "claims": {"groups": "teams"}}
        # what a test leaves running is not waited for at the end
        settings = {"AUTH_PROVIDER": json.dumps(keys), "DRAIN_SECONDS": "1"}
        with running(tmp_path_factory.mktemp("revoking"), settings, data=data) as server:
            secrets = json.loads(server.shell(SETUP % PEOPLE).splitlines()[-1])
            yield Place(server, secrets, issuer)


def last_frame(caller: Caller, path: str, body: Any, method: str = "POST", begun: Callable[[], object] = int) -> Any:
    """The last frame of a stream, and when it came; ``begun`` is called at the first."""
    with caller.stream(path, body, method=method) as stream:
        assert stream.status == 200
        frames = iter(stream)
        first = next(frames)
        begun()
        *_, last = [first, *frames]
    return last.data, time.monotonic()


def is_refused(error: dict[str, Any]) -> bool:
    """Anthropic's clients are told no code."""
    code = error.get("code") or error["type"]
    return code in ("access_revoked", "authentication_error") and "access" in error["message"]


def test_everything_that_is_open_ends(place: Place) -> None:
    caller = place.caller("everything")
    talk = Talk(caller)
    followed = talk.aside()
    turn = followed.begin(LONG)
    ask = {"model": "scripted/fast", "messages": [user(LONG)]}
    streams = {
        "a turn": (f"{talk.path}/turn", {"messages": [user(LONG)], "stream": True}, "POST"),
        "a turn that is followed": (f"{followed.path}/turn/{turn}/events", None, "GET"),
        "a response": ("/v1/responses", {"model": "scripted/fast", "input": LONG, "stream": True}, "POST"),
        "one that is not stored": (
            "/v1/responses",
            {"model": "scripted/fast", "input": LONG, "stream": True, "store": False},
            "POST",
        ),
        "a completion": ("/v1/chat/completions", {**ask, "stream": True}, "POST"),
        "a message": ("/v1/messages", {**ask, "max_tokens": 100_000, "stream": True}, "POST"),
    }
    answers = {
        "a turn": (f"{talk.aside().path}/turn", {"messages": [user(LONG)]}),
        "a response": ("/v1/responses", {"model": "scripted/fast", "input": LONG}),
        "a completion": ("/v1/chat/completions", ask),
        "a message": ("/v1/messages", {**ask, "max_tokens": 100_000}),
    }
    begun: list[int] = []
    with (
        ThreadPoolExecutor(len(streams) + len(answers)) as pool,
        opened(place.server, place.headers("everything")) as socket,
    ):
        socket.subscribe(f"turn:{turn}")
        assert socket.to_op("live")
        reading = {
            name: pool.submit(last_frame, caller, path, body, method, lambda: begun.append(1))
            for name, (path, body, method) in streams.items()
        }
        waiting = {name: pool.submit(caller.post, path, body) for name, (path, body) in answers.items()}
        eventually(lambda: len(begun) == len(streams))
        end = place.lose("everything", USER + "rows.update(is_active=False)")
        assert socket.closed() == 4401
        assert time.monotonic() < end
        for name, last in reading.items():
            told, at = last.result()
            assert is_refused(told["error"]), name
            assert at < end, name
        for name, answer in waiting.items():
            assert (answer.result().status, is_refused(answer.result().json["error"])) == (401, True), name


def over(caller: Caller, path: str) -> Any:
    """A turn that is over; None while it runs."""
    turn = caller.get(path).json
    return turn if turn["status"] != "in_progress" else None


@pytest.mark.parametrize("name", LOSSES)
def test_who_may_no_longer_run_ends_with_its_runs(place: Place, name: str) -> None:
    talk, mate = Talk(place.caller(name)), place.caller("steady")
    turn = talk.begin(LONG)
    place.lose(name, LOSSES[name])
    path = f"{talk.path}/turn/{turn}"
    ended = eventually(lambda: over(mate, path))
    assert (ended["status"], ended["output_message"]["content"]) == ("cancelled", "Hello.")
    [row] = [one for one in mate.get("/v1/logs/turns").json["data"] if one["id"] == turn]
    assert row["stop_reason"] == "access revoked"


@pytest.mark.parametrize("name", CHANGES)
def test_other_rights_end_what_is_open_and_not_what_runs(place: Place, name: str) -> None:
    talk = Talk(place.caller(name))
    turn = talk.begin(script("say Hello.", "wait 6s", "say All of it."))
    begun: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        path = f"{talk.path}/turn/{turn}/events"
        reading = pool.submit(last_frame, talk.caller, path, None, "GET", lambda: begun.append(1))
        eventually(lambda: begun)
        end = place.lose(name, CHANGES[name])
        told, at = reading.result()
    assert is_refused(told["error"])
    assert at < end
    mate = place.caller("steady")
    path = f"{talk.path}/turn/{turn}"
    done = eventually(lambda: over(mate, path))
    assert (done["status"], done["output_message"]["content"]) == ("completed", "Hello.\nAll of it.")


def test_a_socket_of_responses_is_closed_with_the_reason(place: Place) -> None:
    with response_socket.opened(place.server, **place.headers("listener")) as socket:
        place.lose("listener", LOSSES["the key is revoked"])
        with pytest.raises(ConnectionClosed) as closed:
            socket.next()
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "The key is no longer valid.")


def test_a_stream_by_a_token_ends_with_the_token(place: Place) -> None:
    token = place.issuer.token("ann", groups=["red"], exp=int(time.time()) + 3)
    talk = Talk(Caller(place.server.port, {"Authorization": f"Bearer {token}"}))
    began = time.monotonic()
    told, at = last_frame(talk.caller, f"{talk.path}/turn", {"messages": [user(LONG)], "stream": True})
    assert is_refused(told["error"])
    assert at - began < 3 + 10 + WITHIN_S  # clocks of issuers may be ten seconds off


def test_the_rest_goes_on(place: Place) -> None:
    talk = Talk(place.caller("steady"))
    with ThreadPoolExecutor(1) as pool:
        saying = pool.submit(talk.say, script("say Hello.", "wait 5s", "say All of it."))
        place.lose("nobody", "print({name!r})")
        assert saying.result().json["output_message"]["content"] == "Hello.\nAll of it."
