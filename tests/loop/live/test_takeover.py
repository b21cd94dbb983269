"""A process dies in the middle of turns, and they go on: behind the steps that are stored, in the same turn, and
whoever reads them loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.support.live import issuer as issuers
from tests.support.live.caller import Caller, Talk, answer_to, script, tool
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.sockets import events, numbers, opened

pytestmark = pytest.mark.server


def ended(talk: Talk, turn: str) -> Any:
    """The turn, once it is over."""
    return eventually(lambda: (told := talk.turn(turn))["status"] not in ("queued", "in_progress") and told)


def logged(server: ServerProcess, turn: str) -> list[dict[str, Any]]:
    """All events and deltas of a turn."""
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn}")
        return events(socket.to_op("end"))


def test_a_turn_goes_on_behind_its_stored_steps(own_server: ServerProcess) -> None:
    answer = " ".join(map(str, range(400)))
    talk = Talk(Caller(own_server.port), model="scripted/demo", toolgroups=["builtin::demo"])
    with talk.saying(script('call get_weather {"city": "Oslo"}', "then", f"say {answer}")) as stream:
        seen = stream.until(lambda frame: "57" in frame.text)
        own_server.kill()
    turn = seen[0].payload["turn_id"]
    talk.caller.port = own_server.start().port

    over = ended(talk, turn)
    assert over["status"] == "completed"
    assert [step["step_type"] for step in over["steps"]] == ["inference", "tool_execution", "inference", "inference"]
    cut, whole = over["steps"][2:]
    assert cut["is_cut"] is True
    assert answer.startswith(cut["model_response"]["content"])
    assert over["output_message"]["content"] == whole["model_response"]["content"] == answer
    told = [frame.data for frame in seen if frame.type == "step_complete"]
    again = talk.frames(turn)
    assert [frame.data for frame in again if frame.type == "step_complete"][: len(told)] == told
    entries = logged(own_server, turn)
    assert numbers(entries) == list(range(len(numbers(entries))))
    [taken] = [entry for entry in entries if entry.get("type") == "turn.taken_over"]
    assert (taken["cause"], taken["attempt"]) == ("lost", 1)
    after = next(frame for frame in talk.say(script("say Here again.")).json["steps"])
    assert after["model_response"]["content"] == "Here again."


@pytest.mark.slow
def test_the_model_is_asked_the_same_again(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    server = start_server()
    talk, question = Talk(Caller(server.port), model="held/held", instructions="Be exact."), held.hold()
    turn = talk.begin(question.question)
    eventually(lambda: question.asked)
    question.say("Half an ans")
    eventually(lambda: any(frame.text for frame in _typed(talk, turn)))
    server.kill()
    question.end()
    talk.caller.port = server.start().port
    eventually(lambda: len(question.asked) == 2)
    question.end("The whole.")
    over = ended(talk, turn)

    assert json.dumps(question.asked[0]) == json.dumps(question.asked[1])
    assert over["output_message"]["content"] == "The whole."
    cut, whole = (step["model_response"]["content"] for step in over["steps"])
    assert "Half an ans".startswith(cut)  # the last quarter of a second may not have been stored
    assert whole == "The whole."


def _typed(talk: Talk, turn: str) -> list[Any]:
    with talk.following(turn) as stream:
        return list(stream.until(lambda frame: bool(frame.text)))


@pytest.mark.slow
def test_a_resumed_turn_goes_on_too(own_server: ServerProcess) -> None:
    talk = Talk(Caller(own_server.port), model="scripted/demo", client_tools=[tool("ask", "question")])
    long = " ".join(map(str, range(300)))
    waiting = talk.say(script('call ask {"question": "?"}', "then", f"say {long}")).json
    call = waiting["output_message"]["tool_calls"][0]
    path = f"{talk.path}/turn/{waiting['turn_id']}/resume"
    with talk.caller.stream(path, {"tool_responses": [answer_to(call, "yes")], "stream": True}) as stream:
        stream.until(lambda frame: "20" in frame.text)
        own_server.kill()
    talk.caller.port = own_server.start().port

    over = ended(talk, waiting["turn_id"])
    assert over["status"] == "completed"
    assert over["output_message"]["content"] == long
    assert [step["step_type"] for step in over["steps"]] == ["inference", "tool_execution", "inference", "inference"]
    assert over["steps"][1]["tool_responses"][0]["content"] == "yes"


@pytest.mark.slow
def test_queued_turns_survive_their_process(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    server = start_server(MAX_RUNNING="1")
    caller = Caller(server.port)
    first, question = Talk(caller, model="held/held"), held.hold()
    running = first.begin(question.question)
    eventually(lambda: question.asked)
    second = Talk(caller)
    waiting = second.begin(script("say At last."))
    assert second.turn(waiting)["status"] == "queued"
    server.kill()
    question.end()
    caller.port = server.start().port
    eventually(lambda: len(question.asked) == 2)
    question.end("Done.")

    assert ended(first, running)["output_message"]["content"] == "Done."
    assert ended(second, waiting)["output_message"]["content"] == "At last."
    assert not any(entry["type"] == "turn.taken_over" for entry in logged(server, waiting))


def test_a_stop_hands_turns_over(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    server = start_server(DRAIN_SECONDS="0")
    talk, question = Talk(Caller(server.port), model="held/held"), held.hold()
    turn = talk.begin(question.question)
    eventually(lambda: question.asked)
    server.stop()
    question.end()
    talk.caller.port = server.start().port
    eventually(lambda: len(question.asked) == 2)
    question.end("Done.")

    assert ended(talk, turn)["output_message"]["content"] == "Done."
    [taken] = [entry for entry in logged(server, turn) if entry.get("type") == "turn.taken_over"]
    assert taken["cause"] == "handed_over"


@pytest.mark.slow
def test_it_can_be_switched_off(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    server = start_server(RESUME_RUNS="0")
    talk, question = Talk(Caller(server.port), model="held/held"), held.hold()
    turn = talk.begin(question.question)
    eventually(lambda: question.asked)
    question.say("Half")
    _typed(talk, turn)
    server.kill()
    question.end()
    talk.caller.port = server.start().port

    assert ended(talk, turn)["status"] == "interrupted"


@pytest.mark.slow
@pytest.mark.parametrize(("server_resumes", "agent_resumes"), [("1", False), ("0", True)])
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_an_agent_says_otherwise(
    start_server: Callable[..., ServerProcess], held: HeldModel, server_resumes: str, agent_resumes: bool, end: str
) -> None:
    server = start_server(RESUME_RUNS=server_resumes, DRAIN_SECONDS="0")
    talk, question = Talk(Caller(server.port), model="held/held", resume_runs=agent_resumes), held.hold()
    turn = talk.begin(question.question)
    eventually(lambda: question.asked)
    getattr(server, end)()
    question.end()
    if end == "stop" and not agent_resumes:  # it has ended before the next start
        status = "from agents.models import Turn; print([turn.get_status_display() for turn in Turn.all_objects.all()])"
        assert server.shell(status).strip() == "['interrupted']"
    talk.caller.port = server.start().port
    if agent_resumes:
        eventually(lambda: len(question.asked) == 2)
        question.end("Done.")
    assert ended(talk, turn)["status"] == ("completed" if agent_resumes else "interrupted")


@pytest.mark.slow
def test_a_response_goes_on_without_what_was_cut(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    server = start_server()
    caller, question = Caller(server.port), held.hold()
    body = {"model": "held/held", "input": question.question, "background": True}
    name = caller.post("/v1/responses", body).json["id"]
    question.say("Half an answer")
    path = f"/v1/responses/{name}"
    with caller.open("GET", f"{path}?stream=true") as response:
        while b"Half an answer" not in response.readline():
            pass
    eventually(lambda: "Half" in server.shell(TYPED))
    server.kill()
    question.end()
    caller.port = server.start().port
    eventually(lambda: len(question.asked) == 2)
    question.end("The whole.")

    told = eventually(lambda: (now := caller.get(path).json)["status"] == "completed" and now)
    assert [item["content"][0]["text"] for item in told["output"]] == ["The whole."]
    frames = caller.get(f"{path}?stream=true").body.decode().split("\n\n")
    last = json.loads(frames[-2].partition("data: ")[2])
    assert last["response"] == told
    done = [json.loads(frame.partition("data: ")[2]) for frame in frames if "output_item.done" in frame]
    assert [(frame["output_index"], frame["item"]["status"]) for frame in done] == [(0, "incomplete"), (1, "completed")]


TYPED = """
from agents.models import DeltaBatch
print([bytes(body) for body in DeltaBatch.objects.values_list("body", flat=True)])
"""


def begun(server: ServerProcess, caller: Caller, held: HeldModel, **headers: str) -> tuple[Talk, str, Held]:
    """A turn that stands in the middle of its answer."""
    talk, question = Talk(caller, model="held/held"), held.hold()
    with talk.saying(question.question, headers or None) as stream:
        turn = str(next(iter(stream)).payload["turn_id"])
    eventually(lambda: question.asked)
    return talk, turn, question


def was_asked(question: Held, times: int) -> bool:
    return len(question.asked) == times


def were_asked(begun: list[tuple[Talk, str, Held]], times: tuple[int, ...]) -> bool:
    return tuple(len(question.asked) for *_, question in begun) == times


@pytest.mark.slow
def test_it_goes_on_with_the_rights_that_a_token_had(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    with issuers.serving() as issuer:
        provider = {"type": "jwks", "uri": f"{issuer.base}/keys", "issuer": issuer.base, "claims": {"groups": "teams"}}
        server = start_server(AUTH_PROVIDER=json.dumps(provider))
        token = issuer.token("ann", groups=["support"])
        talk, turn, question = begun(server, Caller(server.port, {"Authorization": f"Bearer {token}"}), held)
        server.kill()
        question.end()
        talk.caller.port = server.start().port
        eventually(lambda: len(question.asked) == 2)
        question.end("Done.")
        assert ended(talk, turn)["output_message"]["content"] == "Done."


@pytest.mark.slow
def test_who_may_not_run_any_more_is_not_run_for(start_server: Callable[..., ServerProcess], held: HeldModel) -> None:
    server = start_server(REQUIRE_LOGIN="true")
    made = "from agents.base.store import keys; from agents.models import User; print(keys.create(keys.of_user("
    secret = server.shell(f"{made}User.objects.create_user('ann')), name='k', actions=['read', 'run', 'manage'])[1])")
    talk, turn, question = begun(server, Caller(server.port, {"Authorization": f"Bearer {secret.strip()}"}), held)
    server.kill()
    question.end()
    server.shell("from agents.models import ApiKey; ApiKey.objects.update(actions=['read'])")
    talk.caller.port = server.start().port
    over = ended(talk, turn)
    assert over["status"] == "cancelled"
    assert len(question.asked) == 1


@pytest.mark.slow
def test_what_needs_its_callers_secrets_ends_and_says_why(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    server = start_server()
    data = {"X-LlamaStack-Provider-Data": json.dumps({"tavily_search_api_key": "sesame"})}
    talk, turn, question = begun(server, Caller(server.port), held, **data)
    server.kill()
    question.end()
    talk.caller.port = server.start().port
    assert ended(talk, turn)["status"] == "interrupted"
    assert "what the caller sent" in logged(server, turn)[-1]["error"]["message"]
    assert len(question.asked) == 1


@pytest.mark.slow
def test_a_turn_that_ends_its_process_again_and_again_is_set_aside(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    server = start_server()
    talk, turn, question = begun(server, Caller(server.port), held)
    for asked in range(2, 5):
        server.kill()
        question.end()
        talk.caller.port = server.start().port
        eventually(partial(was_asked, question, asked))
    server.kill()
    question.end()
    talk.caller.port = server.start().port
    assert ended(talk, turn)["status"] == "interrupted"
    assert logged(server, turn)[-1]["reason"] == "3 processes were lost while they ran it"
    assert len(question.asked) == 4


@pytest.mark.slow
def test_a_turn_that_ends_its_process_takes_no_other_along(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    server = start_server()
    both = [begun(server, Caller(server.port), held) for _ in range(2)]
    (first, guilty, _), (second, innocent, _) = both
    running = [question for *_, question in both]
    for counts in ((2, 2), (3, 3), (4, 3), (4, 4)):
        before = [len(question.asked) for *_, question in both]
        server.kill()
        for question in running:
            question.end()
        first.caller.port = second.caller.port = server.start().port
        eventually(partial(were_asked, both, counts))
        running = [question for (*_, question), count in zip(both, before, strict=True) if len(question.asked) > count]
    running[0].end("At last.")
    assert (ended(first, guilty)["status"], ended(second, innocent)["status"]) == ("interrupted", "completed")
