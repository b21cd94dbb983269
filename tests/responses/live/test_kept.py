"""What clients ask not to store, and the log keeps all the same: readable there, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, script
from tests.support.live.held_model import HeldModel
from tests.support.live.openai_api import MODEL, function, said, text
from tests.support.live.process import ServerProcess, eventually, running
from tests.support.live.response_socket import opened

pytestmark = pytest.mark.server

TOOLS: Any = [function("look", "at")]
ROUNDS = script('call look {"at": "one"}', "then", 'call look {"at": "two"}', "then", "say Seen.")


class Log:
    """What the log says of a conversation, which each test names differently."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def turns(self, thread: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.caller.get(f"/v1/logs/turns?order=asc&q=meta.thread:{thread}").json["data"]
        return found


@pytest.fixture(scope="module")
def keeping(tmp_path_factory: pytest.TempPathFactory, data: Path, held: HeldModel) -> Iterator[ServerProcess]:
    environment = {"KEEP_UNSTORED": "1", **held.environment}
    with running(tmp_path_factory.mktemp("keeping"), environment, data=data) as process:
        yield process


@pytest.fixture
def client(keeping: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{keeping.base}/v1", api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture
def log(keeping: ServerProcess) -> Log:
    return Log(Caller(keeping.port))


def types(turn: dict[str, Any]) -> list[str]:
    return [step["type"] for step in turn["steps"]]


def finished(client: OpenAI, thread: str, question: str, *, with_ids: bool = True) -> list[Any]:
    """Ask until no tool is called any more, as a client that keeps the history itself; its history."""
    history: list[Any] = [said("Be brief.", "developer"), said(question)]
    while True:
        response = client.responses.create(
            model=MODEL, input=history, tools=TOOLS, store=False, prompt_cache_key=thread
        )
        made = [item.to_dict() for item in response.output]
        history += made if with_ids else [{**item, "id": f"own_{len(history)}"} for item in made]
        calls = [item for item in made if item["type"] == "function_call"]
        if not calls:
            return history
        history += [{"type": "function_call_output", "call_id": call["call_id"], "output": "a cat"} for call in calls]


@pytest.mark.parametrize("with_ids", [True, False])
def test_the_rounds_of_a_turn_are_one_turn_and_those_after_it_one_session(
    client: OpenAI, log: Log, with_ids: bool
) -> None:
    thread = f"rounds{with_ids}"
    history = finished(client, thread, ROUNDS, with_ids=with_ids)
    [turn] = log.turns(thread)
    assert (turn["status"], types(turn)) == ("completed", ["inference", "tool_execution"] * 2 + ["inference"])
    history.append(said(script("say Again.")))
    client.responses.create(model=MODEL, input=history, store=False, prompt_cache_key=thread)
    first, second = log.turns(thread)
    assert first["session_id"] == second["session_id"]
    assert [second["input_preview"], second["output_preview"]] == ["!script say Again.", "Again."]


def test_the_api_does_not_know_it(client: OpenAI, log: Log) -> None:
    response = client.responses.create(model=MODEL, input="Hello", store=False, prompt_cache_key="unknown")
    [turn] = log.turns("unknown")
    for ask in (client.responses.retrieve, client.responses.delete, client.responses.cancel):
        with pytest.raises(openai.NotFoundError):
            ask(response.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model=MODEL, input="Hello", previous_response_id=response.id)
    conversation = f"conv_{turn['session_id'].replace('-', '')}"
    with pytest.raises(openai.NotFoundError):
        client.conversations.retrieve(conversation)
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model=MODEL, input="Hello", conversation=conversation)
    listed = log.caller.get("/v1/responses?limit=100").json["data"]
    assert response.id not in [one["id"] for one in listed]
    assert conversation not in [one["id"] for one in log.caller.get("/v1/conversations?limit=100").json["data"]]


def test_its_page_reads_like_any_other(client: OpenAI, log: Log) -> None:
    finished(client, "page", ROUNDS)
    [turn] = log.turns("page")
    page = log.caller.get(f"/turns/{turn['id']}/").body.decode()
    assert page.count("a cat") >= 2
    assert "Seen." in page
    session = log.caller.get(f"/sessions/{turn['session_id']}/")
    assert session.status == 200
    assert "Seen." in session.body.decode()
    assert '<p class="speaker" dir="auto" title="system">system</p>' in session.body.decode()
    assert "<dt>conversation</dt>" not in session.body.decode()


def test_a_history_that_was_changed_begins_a_session_of_its_own(client: OpenAI, log: Log) -> None:
    history = finished(client, "changed", script("say One."))
    history[1:] = [said("Something else."), *history[2:], said(script("say Two."))]
    answer = client.responses.create(model=MODEL, input=history, store=False, prompt_cache_key="changed")
    assert answer.output_text == "Two."
    first, second = log.turns("changed")
    assert first["session_id"] != second["session_id"]


def test_what_is_answered_in_part_is_taken_all_the_same(client: OpenAI, log: Log) -> None:
    """A client may drop a call, and nothing here remembers it but the log."""
    question = script('call look {"at": "one"}', 'call look {"at": "two"}', "then", "say Seen.")
    first = client.responses.create(model=MODEL, input=question, tools=TOOLS, store=False, prompt_cache_key="part")
    call: Any = first.output[0].to_dict()
    output: Any = {"type": "function_call_output", "call_id": call["call_id"], "output": "a cat"}
    items: Any = [said(question), call, output]
    second = client.responses.create(model=MODEL, input=items, tools=TOOLS, store=False, prompt_cache_key="part")
    assert second.output_text == "Seen."
    assert len(log.turns("part")) == 2


def test_on_a_socket_too(keeping: ServerProcess, log: Log) -> None:
    more: dict[str, Any] = {"store": False, "tools": TOOLS, "prompt_cache_key": "socket"}
    with opened(keeping) as socket:
        warm = socket.response(input=[said("Be brief.", "developer")], generate=False, **more)
        response = socket.response(input=ROUNDS, previous_response_id=warm["id"], **more)
        while response["output"][-1]["type"] == "function_call":
            call = response["output"][-1]["call_id"]
            output = {"type": "function_call_output", "call_id": call, "output": "a cat"}
            response = socket.response(input=[output], previous_response_id=response["id"], **more)
        assert text(response) == "Seen."
        socket.response(input="And?", previous_response_id=response["id"], **more)
    first, second = log.turns("socket")
    assert first["session_id"] == second["session_id"]
    assert types(first) == ["inference", "tool_execution"] * 2 + ["inference"]


def test_a_history_that_is_sent_again_on_another_socket_goes_on(keeping: ServerProcess, log: Log) -> None:
    more: dict[str, Any] = {"store": False, "prompt_cache_key": "two-sockets"}
    begin, question = said("Be brief.", "developer"), said(script("say One."))
    with opened(keeping) as socket:
        warm = socket.response(input=[begin], generate=False, **more)
        answer = socket.response(input=[question], previous_response_id=warm["id"], **more)["output"]
    with opened(keeping) as socket:
        warm = socket.response(input=[begin], generate=False, **more)
        items = [question, *answer, said(script("say Two."))]
        socket.response(input=items, previous_response_id=warm["id"], **more)
    first, second = log.turns("two-sockets")
    assert first["session_id"] == second["session_id"]
    assert second["input_preview"] == "!script say Two."


def test_a_summary_leads_on_in_the_same_session(client: OpenAI, log: Log) -> None:
    """Of what came before it a client keeps what it likes; the model is shown that, and nothing else."""
    more: Any = {"model": MODEL, "tools": TOOLS, "store": False, "prompt_cache_key": "summed-up"}
    before, question = said("Be brief.", "developer"), said(ROUNDS)
    items: Any = [before, said("My cat is Ada."), question]
    items += [item.to_dict() for item in client.responses.create(input=items, **more).output]
    items.append({"type": "function_call_output", "call_id": items[-1]["call_id"], "output": "a cat"})
    [summary] = client.responses.create(input=[*items, {"type": "compaction_trigger"}], **more).output
    window: Any = [question, before, summary.to_dict()]
    second = client.responses.create(input=window, **more).output[0].to_dict()
    output: Any = {"type": "function_call_output", "call_id": second["call_id"], "output": "another"}
    last = client.responses.create(input=[*window, second, output], **more)
    assert last.output_text == "Seen."
    window += [second, output, last.output[0].to_dict(), said("Who is Ada?")]
    client.responses.create(input=window, **more)
    turns = log.turns("summed-up")
    assert len({turn["session_id"] for turn in turns}) == 1
    assert [types(turn) for turn in turns] == [
        ["inference", "tool_execution", "inference"],
        ["inference", "tool_execution", "inference"],
        ["inference"],
    ]
    assert "My cat" not in turns[-1]["output_preview"]


def test_what_a_program_tells_the_model_is_not_what_was_asked(client: OpenAI, log: Log) -> None:
    rules = "# Rules for here\n\n<instructions>\nBe <b>brief</b>.\n</instructions>\n<env>Monday</env>"
    for thread, items in (("asked", [rules, "<env>Monday</env>", "What day is it?"]), ("alone", ["<b>Hi</b>"])):
        asked: Any = [said(text) for text in items]
        client.responses.create(model=MODEL, input=asked, store=False, prompt_cache_key=thread)
        [turn] = log.turns(thread)
        assert turn["input_preview"] == items[-1]


def test_it_ends_when_its_client_hangs_up(keeping: ServerProcess, log: Log, held: HeldModel) -> None:
    question = held.hold()
    with opened(keeping) as socket:
        socket.send(model="held/held", input=question.question, store=False, prompt_cache_key="hung-up")
        socket.next()
        eventually(lambda: question.asked)
    eventually(lambda: [turn["status"] for turn in log.turns("hung-up")] == ["cancelled"])


def test_a_stored_conversation_stays_as_it_is(client: OpenAI, log: Log) -> None:
    stored = client.responses.create(model=MODEL, input="My cat is Ada.")
    kept = client.responses.create(
        model=MODEL, input="Who?", store=False, previous_response_id=stored.id, prompt_cache_key="beside"
    )
    assert "My cat is Ada." in kept.output_text
    [turn] = log.turns("beside")
    after = client.responses.create(model=MODEL, input=script("say Next."), previous_response_id=stored.id)
    items = client.responses.input_items.list(after.id, order="asc")
    assert len(items.data) == 3
    assert turn["session_id"] not in after.id


def test_it_is_not_kept_unasked(server: ServerProcess) -> None:
    caller = Caller(server.port)
    body = {"model": MODEL, "input": "Hello", "store": False, "prompt_cache_key": "unasked"}
    assert caller.post("/v1/responses", body).status == 200
    assert Log(caller).turns("unasked") == []
