"""Forks: the same bytes to the model where nothing is changed, and what is changed from the step on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from agents.base import ids
from agents.base.errors import Conflict, InvalidRequest, NotFound
from agents.base.store import keys
from agents.forks.runner import fork
from agents.forks.runner.fork import ForkRequest
from agents.forks.schemas.forks import ForkTurn
from agents.logs.store import bulk
from agents.loop.service import Started
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn
from agents.record.store import forks, history, items, read_turns, retries
from agents.responses.runner.input import row_of
from agents.responses.schemas.input_items import items_of_input
from agents.responses.store import conversations, responses
from tests.access.matrix import make_user
from tests.forks.runner.forking import CLIENT_TOOL, Stage, key_of, listening_service, respond_more, shape
from tests.support.builders import make_agent, make_session, make_turn
from tests.support.inprocess import open_database
from tests.support.pages.openai_requests import LOOKUP, respond

ORDER = 'call lookup_order {"order": 8841}'
WEATHER = 'call get_weather {"city": "Lyon"}'
ASK = 'call ask {"what": "may I?"}'
TOOLS = ["builtin::demo"]


@pytest.fixture
def stage(django_db_setup: None, django_db_blocker: Any) -> Iterator[Stage]:
    with open_database(django_db_blocker), listening_service() as (service, model):
        yield Stage(keys.local(), service, model)


def rounds(stage: Stage) -> int:
    agent = make_agent(stage.actor, toolgroups=TOOLS)
    session = make_session(stage.actor, agent)
    stage.say(agent, session, "say What was said before.")
    stage.model.take()
    return stage.say(agent, session, "think Hm.", ORDER, "then", WEATHER, "then", "say Both.")


def parallel(stage: Stage) -> int:
    agent = make_agent(stage.actor, toolgroups=TOOLS)
    return stage.say(agent, make_session(stage.actor, agent), ORDER, WEATHER, ORDER, "then", "say All three.")


def guarded(stage: Stage) -> int:
    agent = make_agent(
        stage.actor,
        toolgroups=[*TOOLS, "builtin::demo_policies"],
        input_shields=["demo_guard"],
        output_shields=["demo_guard"],
        client_tools=[CLIENT_TOOL],
    )
    turn = stage.say(agent, make_session(stage.actor, agent), "# refunds", ORDER, ASK, "then", "say Granted.")
    stage.answer(turn, "yes")
    return turn


def documents(stage: Stage) -> int:
    agent = make_agent(stage.actor, toolgroups=TOOLS)
    given = [{"content": "Kettles are blue.", "mime_type": "text/plain"}]
    return stage.say(agent, make_session(stage.actor, agent), ORDER, "then", "say Blue.", documents=given)


def answered(stage: Stage) -> int:
    agent = make_agent(stage.actor, client_tools=[CLIENT_TOOL])
    more = 'call ask {"what": "sure?"}'
    turn = stage.say(agent, make_session(stage.actor, agent), ASK, more, "then", ASK, "then", "say Thanks.")
    stage.answer(turn, "yes", "very")
    stage.answer(turn, "yes again")
    return turn


def unseen(stage: Stage) -> int:
    agent = make_agent(stage.actor, output_shields=["demo_guard"])
    turn = stage.say(agent, make_session(stage.actor, agent), "say Action: look it up")
    stage.answer(turn, "it is blue")
    return turn


def responded(stage: Stage) -> int:
    _, before = respond(stage.actor, "say Earlier.")
    [record] = responses.of_turn(stage.actor, key_of(before))
    stage.model.take()
    lines = ('call lookup_order {"order": 1}', "then", 'call lookup_order {"order": 2}', "then", "say Done.")
    more = {"tools": [LOOKUP], "instructions": "First.", "previous_response_id": record.public_id}
    first, turn = respond(stage.actor, *lines, **more)
    again: dict[str, Any] = {"tools": [LOOKUP], "instructions": "Second.", "temperature": 0.5}
    for words, extra in (("shipped", {"tools": [LOOKUP]}), ("lost", again)):
        [call] = stage.waiting(key_of(turn))
        first = respond_more(stage.actor, first, (call["call_id"], words), **extra)
    return key_of(turn)


def spoken_beside(stage: Stage) -> int:
    """A response whose client said more beside its answer."""
    first, turn = respond(stage.actor, 'call lookup_order {"order": 1}', "then", "say Done.", tools=[LOOKUP])
    [call] = stage.waiting(key_of(turn))
    respond_more(stage.actor, first, (call["call_id"], "shipped"), say="And be quick.", tools=[LOOKUP])
    return key_of(turn)


def summed_up(stage: Stage) -> int:
    """A response in whose rounds the conversation became too long."""
    managed: dict[str, Any] = {
        "context_management": [{"type": "compaction", "compact_threshold": 200}],
        "tools": [LOOKUP],
    }
    lines = ('call lookup_order {"order": 1}', "then", 'call lookup_order {"order": 2}', "then", "say Done.")
    first, turn = respond(stage.actor, *lines, **managed)
    for words in ("shipped " * 100, "lost " * 300):
        [call] = stage.waiting(key_of(turn))
        first = respond_more(stage.actor, first, (call["call_id"], words), **managed)
    assert [step.detail for step in stage.turn(key_of(turn)).steps if b'"compaction"' in (step.detail or b"")]
    return key_of(turn)


def with_tools_of_an_item(stage: Stage) -> int:
    """A response whose tools an item of the response before it brought."""
    items: Any = [
        {"type": "additional_tools", "role": "developer", "tools": [LOOKUP]},
        {"role": "user", "content": "x"},
    ]
    before, _ = respond(stage.actor, given=items)
    stage.model.take()
    first, turn = respond(
        stage.actor, 'call lookup_order {"order": 1}', "then", "say Done.", previous_response_id=before
    )
    [call] = stage.waiting(key_of(turn))
    respond_more(stage.actor, first, (call["call_id"], "shipped"))
    return key_of(turn)


KINDS = [
    with_tools_of_an_item,
    rounds,
    parallel,
    guarded,
    documents,
    answered,
    unseen,
    responded,
    spoken_beside,
    summed_up,
]


@pytest.mark.parametrize("kind", KINDS)
def test_with_recorded_results_and_nothing_changed_a_model_is_sent_the_same_bytes(kind: Any, stage: Stage) -> None:
    turn = kind(stage)
    source, sent = stage.turn(turn), stage.model.take()
    for step in source.steps:
        made = stage.turn(stage.fork(turn, step.number + 1))
        before = sum(1 for one in source.steps if one.type == "inference" and one.number < step.number)
        assert stage.model.take() == sent[before:], f"from step {step.number + 1}"
        assert shape(made) == shape(source)
        assert (made.status, made.output_message) == (source.status, source.output_message)
    assert stage.turn(turn) == source


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_taken_over_is_not_counted_again(kind: Any, stage: Stage) -> None:
    turn = kind(stage)
    source = stage.turn(turn)
    session = Session.objects.unscoped("test").get(pk=source.session)
    spent = session.input_tokens
    last = next(step for step in reversed(source.steps) if step.type == "inference")
    made = stage.turn(stage.fork(turn, last.number + 1))
    session.refresh_from_db()
    assert made.usage == last.usage
    assert session.input_tokens - spent == last.usage.input_tokens
    row = Turn.objects.unscoped("test").get(pk=made.key)
    assert row.input_tokens == last.usage.input_tokens
    assert row.iterations == Turn.objects.unscoped("test").get(pk=turn).iterations
    marks = [json.loads(step.detail or b"{}").get("origin", {}).get("how") for step in made.steps]
    assert marks[: last.number] == ["taken_over"] * last.number
    assert [step.usage.input_tokens for step in made.steps[: last.number]] == [0] * last.number


# ------------------------------------------------------------------------------------------- changes


def test_a_fork_stands_beside_its_source_and_leaves_the_session_as_it_was(stage: Stage) -> None:
    turn = rounds(stage)
    source = stage.turn(turn)
    agent = stage.service.session_agent(stage.actor, source.session)
    said_before = history.before(source.session)
    made = stage.fork(turn, 3)
    rows = {row.pk: row for row in Turn.objects.unscoped("test").filter(session_id=source.session)}
    assert rows[made].parent_id == rows[turn].parent_id
    assert Session.objects.unscoped("test").get(pk=source.session).last_turn == turn
    assert history.before(source.session) == said_before
    assert made not in [key for key, _ in read_turns.sizes_of_session(stage.actor, source.session)]
    assert [key for key, _ in read_turns.sizes_of_session(stage.actor, source.session, [made])] == [made]
    stage.model.take()
    stage.say(agent, source.session, "say Next.")
    [asked] = stage.model.take()
    messages = json.loads(asked)["messages"]
    assert [one["role"] for one in messages].count("user") == 3


def test_a_changed_model_instructions_and_sampling_hold_from_the_step_on(stage: Stage) -> None:
    turn = rounds(stage)
    stage.model.take()
    sampling = {"strategy": {"type": "top_p", "temperature": 0.3, "top_p": 0.5}, "max_tokens": 40}
    made = stage.turn(stage.fork(turn, 3, model="scripted/demo", instructions="Be rude.", sampling_params=sampling))
    bodies = [json.loads(body) for body in stage.model.take()]
    assert {body["model"] for body in bodies} == {"demo"}
    assert {body["messages"][0]["content"] for body in bodies} == {"Be rude."}
    assert {body["temperature"] for body in bodies} == {0.3}
    assert [step.name for step in made.steps if step.type == "inference"] == ["scripted/fast", *["scripted/demo"] * 2]
    assert made.model == "scripted/demo"


def test_an_edited_result_is_what_the_model_is_told(stage: Stage) -> None:
    turn = rounds(stage)
    stage.model.take()
    made = stage.turn(stage.fork(turn, 2, tool_result='{"status": "stolen"}'))
    bodies = [json.loads(body) for body in stage.model.take()]
    assert bodies[0]["messages"][-1]["content"] == '{"status": "stolen"}'
    origins = [json.loads(step.detail or b"{}").get("origin") for step in made.steps]
    assert [origin and origin["how"] for origin in origins] == ["taken_over", "edited", None, "recorded", None]


def test_another_question_is_asked_from_the_first_step_on(stage: Stage) -> None:
    turn = rounds(stage)
    stage.model.take()
    made = stage.turn(stage.fork(turn, 1, input="!script\nsay Something else."))
    assert json.loads(made.output_message or b"{}")["content"] == "Something else."
    assert json.loads(made.input_messages)[0]["content"].endswith("Something else.")
    assert len(stage.model.take()) == 1


def test_a_call_that_was_never_made_is_run_and_says_so(stage: Stage) -> None:
    turn = rounds(stage)
    other = 'call get_weather {"city": "Nice"}'
    made = stage.turn(stage.fork(turn, 1, input="\n".join(["!script", WEATHER, other, "then", "say So."])))
    origins = [json.loads(step.detail or b"{}").get("origin") for step in made.steps if step.type == "tool_execution"]
    assert [origin["how"] for origin in origins] == ["recorded", "live"]


def test_live_tools_are_run(stage: Stage) -> None:
    turn = rounds(stage)
    made = stage.turn(stage.fork(turn, 1, tools="live"))
    assert all(b'"origin"' not in (step.detail or b"") for step in made.steps)


def test_a_client_tool_without_a_record_waits_and_goes_on_with_what_was_changed(stage: Stage) -> None:
    turn = answered(stage)
    stage.model.take()
    made = stage.fork(turn, 2, tools="live", instructions="Be rude.")
    assert stage.turn(made).status == "awaiting_input"
    stage.answer(made, "no", "never")
    assert json.loads(stage.model.take()[-1])["messages"][0]["content"] == "Be rude."
    assert stage.turn(made).status == "awaiting_input"
    assert stage.turn(turn).status == "completed"


def test_a_turn_that_waits_can_be_forked_with_an_answer(stage: Stage) -> None:
    agent = make_agent(stage.actor, client_tools=[CLIENT_TOOL])
    turn = stage.say(agent, make_session(stage.actor, agent), ASK, "then", "say Thanks.")
    made = stage.turn(stage.fork(turn, 2, tool_result="yes"))
    assert (made.status, stage.turn(turn).status) == ("completed", "awaiting_input")


def test_a_fork_of_a_fork_keeps_what_was_changed_and_stands_where_its_source_does(stage: Stage) -> None:
    turn = rounds(stage)
    first = stage.fork(turn, 3, instructions="Be rude.")
    sent = stage.model.take()[-2:]
    second = stage.fork(first, 3)
    assert stage.model.take() == sent
    rows = Turn.objects.unscoped("test").in_bulk([turn, first, second])
    assert len({row.parent_id for row in rows.values()}) == 1
    assert forks.root_of(second) == turn
    record = forks.of_turn(stage.actor, second)
    assert record is not None
    assert (record.source, record.step_number, record.changes) == (first, 2, "{}")
    assert [one.turn for one in forks.from_turn(stage.actor, turn)] == [first]


def test_a_response_is_forked_with_its_own_leg(stage: Stage) -> None:
    turn = responded(stage)
    stage.model.take()
    sampling = {"strategy": {"type": "greedy"}, "max_tokens": 50}
    made = stage.fork(turn, 5, model="scripted/demo", sampling_params=sampling)
    [record] = responses.of_turn(stage.actor, made)
    settings = json.loads(record.settings)
    assert (settings["model"], settings["temperature"], settings["instructions"]) == ("scripted/demo", 0.0, "Second.")
    assert record.previous == responses.of_turn(stage.actor, turn)[0].previous
    [body] = stage.model.take()
    assert json.loads(body)["model"] == "demo"
    _, after = respond(stage.actor, "say On.", previous_response_id=record.public_id)
    assert b"Done." in stage.model.take()[-1]
    assert stage.turn(key_of(after)).status == "completed"


# ------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("step", "changes", "param"),
    [
        (99, {}, "step"),
        ("no-id", {}, "step"),
        (0, {}, "step"),
        (1, {"tool_result": "x"}, "changes.tool_result"),
        (2, {"input": "x"}, "changes.input"),
    ],
)
def test_what_cannot_be_forked_so_is_refused(step: Any, changes: Any, param: str, stage: Stage) -> None:
    turn = rounds(stage)
    with pytest.raises(InvalidRequest) as refused:
        stage.fork(turn, step, **changes)
    assert refused.value.param == param


def test_a_running_turn_is_not_forked(stage: Stage) -> None:
    made = make_turn(stage.actor, "say Hello.", upto=1)
    with pytest.raises(Conflict):
        stage.fork(made.turn)


def test_a_repeat_that_meets_its_first_run_is_told_of_it(stage: Stage) -> None:
    """Between its look for a first run and its look at the source that run begins, and the source goes on."""
    turn = guarded(stage)
    retry = retries.read(stage.actor, "fork", b"{}", "one key", None)
    asked = ForkRequest(stage.actor, turn, ForkTurn(step=1), raw=b"{}", retry=retry)
    first: list[Started] = []

    def meanwhile(execute: Callable[..., Any], *given: Any) -> Any:
        found = execute(*given)
        if not first:
            first.append(Started(0, 0, 0))
            first[0] = fork.begin(stage.service, asked)
            Turn.objects.unscoped("test").filter(pk=turn).update(status=TurnStatus.IN_PROGRESS)
        return found

    with connection.execute_wrapper(meanwhile):
        again = fork.begin(stage.service, asked)
    assert again == first[0]
    with pytest.raises(Conflict):
        stage.fork(turn)


def test_what_others_may_not_see_is_not_there(stage: Stage) -> None:
    turn = rounds(stage)
    stage.actor = make_user("stranger", teams=["green"])
    with pytest.raises(NotFound):
        stage.fork(turn)


def test_a_source_that_is_deleted_leaves_its_fork(stage: Stage) -> None:
    turn = responded(stage)
    made = stage.fork(turn, 1)
    for leg in responses.of_turn(stage.actor, turn):
        responses.delete(stage.actor, leg.public_id)
    record = forks.of_turn(stage.actor, made)
    assert record is not None
    assert record.source is None
    assert stage.turn(made).status == "completed"


def test_a_session_without_its_turns_does_not_go_on_from_a_fork(stage: Stage) -> None:
    turn = rounds(stage)
    stage.fork(turn, 1)
    session = Session.objects.unscoped("test").get(pk=read_turns.head(stage.actor, turn).session)
    all_of_it = Turn.objects.unscoped("test").filter(session=session).values_list("pk", flat=True)
    own = [one for one in all_of_it if forks.of_turn(stage.actor, one) is None]
    assert bulk.delete(stage.actor, "turn", own).done == 2
    session.refresh_from_db()
    assert (session.turn_count, session.last_turn) == (1, None)


def test_a_model_that_is_not_there_fails_the_fork_and_nothing_else(stage: Stage) -> None:
    turn = rounds(stage)
    made = stage.turn(stage.fork(turn, 3, model="scripted/none"))
    assert (made.status, made.error and made.error.type) == ("failed", "model_not_found")
    assert stage.turn(turn).status == "completed"


def test_a_conversation_goes_on_as_if_there_was_no_fork(stage: Stage) -> None:
    session = conversations.create(stage.actor, [row_of(*items_of_input("By hand."))], {})
    name = ids.openai(ids.Kind.SESSION, session)
    first, turn = respond(stage.actor, "say One.", conversation=name)
    sent = stage.model.take()
    stage.fork(key_of(turn), 1)
    assert stage.model.take() == sent
    assert responses.get(stage.actor, first).ends_its_session
    assert len(list(items.of_session(session).walk())) == 3
    _, after = respond(stage.actor, "say Two.", conversation=name)
    told = json.loads(stage.model.take()[-1])["messages"]
    assert [one["role"] for one in told] == ["user", "user", "assistant", "user"]
    [record] = responses.of_turn(stage.actor, key_of(after))
    said, before = (list(line.walk())[:3] for line in (items.of_session(session), items.input_of(record)))
    assert [one.body for one in before] == [one.body for one in said]
