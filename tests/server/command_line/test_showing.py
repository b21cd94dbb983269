"""``manage.py logs show``: one record as text."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.base import ids
from agents.base.store import keys
from agents.feedback.store import feedback
from agents.feedback.store.feedback import FeedbackContent
from agents.record.models.turns import Step
from agents.record.store import targets
from agents.record.store.targets import RecordTarget
from tests.loop.test_loop import tool
from tests.support.builders import Recorded, make_agent, make_response, make_session, make_turn

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(*arguments: str, out: io.StringIO | None = None, **options: Any) -> str:
    out = out or io.StringIO()
    call_command("logs", "show", *arguments, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


@pytest.fixture
def turn() -> Recorded:
    actor = keys.local()
    agent = make_agent(actor, name="support")
    script = '# where is my kettle?\ncall search {"query": "kettle"}\nthen\nsay Found a kettle.'
    session = make_session(actor, agent, name="kettles")
    return make_turn(actor, script, agent=agent, session=session, server_tools=tool("search"))


def test_it_shows_a_turn_from_question_to_answer(turn: Recorded) -> None:
    targets.change_tags(RecordTarget(turn.session, turn.turn), add=["vip"])
    lines = [line.strip() for line in show(turn.public_id).splitlines()]
    assert lines[0] == f"Turn {turn.public_id}"
    facts = {name: value.strip() for name, _, value in (line.partition(" ") for line in lines[1 : lines.index("")])}
    assert (facts["agent"], facts["status"].split()[0], facts["tags"]) == ("support", "completed", "vip")
    assert facts["session"] == f"{ids.public(ids.Kind.SESSION, turn.session)} kettles"
    assert {"started", "duration", "tokens"} <= set(facts)
    parts = ["Question", 'search({"query": "kettle"})', "arguments", "result", "Answer", "Found a kettle."]
    positions = [lines.index(part) for part in parts[:-1]] + [len(lines) - 1]
    assert positions == sorted(positions)
    assert lines[-1] == "Found a kettle."


def test_steps_are_indented_below_the_step_they_were_done_in(turn: Recorded) -> None:
    first, second, *_ = Step.objects.unscoped("a test's").filter(turn_id=turn.turn).order_by("number")
    Step.objects.unscoped("a test's").filter(pk=second.pk).update(parent_id=first.pk)
    titles = [line for line in show(turn.public_id).splitlines() if line.lstrip()[:2] in ("1.", "2.", "3.")]
    assert [len(line) - len(line.lstrip()) for line in titles] == [0, 2, 0]


def test_each_spelling_of_an_id_is_understood(turn: Recorded) -> None:
    digits = turn.public_id.replace("-", "")
    assert show(f"turn_{digits}") == show(turn.public_id)
    session = ids.public(ids.Kind.SESSION, turn.session)
    text = show(session)
    assert text.startswith(f"Session {session}\n")
    assert show(turn.public_id) in text
    assert show(ids.openai(ids.Kind.SESSION, turn.session)) == text
    response = make_response(keys.local())
    assert "Turn " in show(response.public_id).splitlines()[0]
    step = Step.objects.unscoped("a test's").get(turn_id=turn.turn, name="search")
    only = show(ids.public(ids.Kind.STEP, step.pk))
    assert "2. tool_execution: search" in only
    assert "1. " not in only


@pytest.mark.parametrize("text", ["nothing", "resp_00", "\x1b[31mred", ""])
def test_an_id_of_nothing_is_an_error(text: str) -> None:
    with pytest.raises(CommandError, match="no turn, session, response or step") as error:
        show(text)
    assert error.value.returncode == 1
    assert "\x1b" not in str(error.value)


def test_long_texts_are_cut_unless_all_is_wanted() -> None:
    words = " ".join(map(str, range(50_000)))
    script = f'call search {{"query": "{words}"}}\nthen\nsay Nothing.'
    turn = make_turn(keys.local(), script, server_tools=tool("search"))
    short, full = show(turn.public_id), show(turn.public_id, "--full")
    assert "(all of it: --full)" in short
    assert len(short) < 6_000
    assert words in full
    assert "--full" not in full


def test_texts_do_not_control_the_terminal() -> None:
    turn = make_turn(keys.local(), "say \x1b]0;owned\x07 and\x1b[2J\r\x9b31m\u202ereversed")
    text = show(turn.public_id, out=Terminal(), no_color=True)
    assert all(letter.isprintable() for line in text.split("\n") for letter in line)
    assert "]0;owned" in text


def test_there_are_colours_on_a_terminal_only(turn: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" not in show(turn.public_id)
    assert "\x1b[" in show(turn.public_id, force_color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in show(turn.public_id, out=Terminal())


def test_errors_and_feedback_are_shown() -> None:
    turn = make_turn(keys.local(), "fail 504 upstream timed out")
    target = RecordTarget(turn.session, turn.turn)
    feedback.add(keys.local(), target, FeedbackContent(name="quality", value=0.25, comment="too slow"))
    lines = [line.strip() for line in show(turn.public_id).splitlines()]
    assert any(line.startswith("error: ") and "upstream timed out" in line for line in lines)
    assert lines[-2] == "Feedback"
    assert lines[-1].startswith("quality 0.25 · too slow")


def test_json_is_the_record_as_exports_have_it(turn: Recorded) -> None:
    out = io.StringIO()
    call_command("logs", "export", "--whole", stdout=out)
    assert show(turn.public_id, "--json") == out.getvalue()
    assert show(ids.public(ids.Kind.SESSION, turn.session), "--json") == out.getvalue()
    assert json.loads(out.getvalue())["record"]["id"] == turn.public_id
