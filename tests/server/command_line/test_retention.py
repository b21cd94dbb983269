"""``manage.py retention``: rules added, looked through, run and removed."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from agents.base import ids
from agents.base.store import keys
from agents.record.models.turns import Turn
from tests.conftest import Clock
from tests.support.builders import Recorded, make_agent, make_session, make_turn

pytestmark = pytest.mark.django_db


def retention(*given: str) -> str:
    said = io.StringIO()
    call_command("retention", *given, stdout=said, stderr=io.StringIO())
    return said.getvalue()


@pytest.fixture
def turns(clock: Clock) -> list[Recorded]:
    """Two old turns in a session, and a new one in another."""
    me = keys.local()
    agent = make_agent(me, name="demo")
    session = make_session(me, agent)
    old = [make_turn(me, agent=agent, session=session) for _ in range(2)]
    clock.pass_s(40 * 86_400)
    return [*old, make_turn(me, agent=agent)]


def stored() -> int:
    return Turn.objects.unscoped("a test's").count()


def test_a_rule_from_its_beginning_to_its_end(turns: list[Recorded], tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    said = retention("add", "old", "-agent:other", "started:<-30d", "--archive", "--folder", str(folder))
    assert "old: now 2 turns would go, and 1 session" in said
    assert f"written into {folder} as jsonl, then deleted" in said
    assert "old: -agent:other started:<-30d  (has not run)" in retention("list")
    session = ids.public(ids.Kind.SESSION, turns[0].session)
    for dry in (retention("preview"), retention("run", "--dry-run", "old")):
        assert f"old: now 2 turns would go, and 1 session with all that is inside.\n  session {session}  2 turns" in dry
    assert stored() == 3
    assert not folder.exists()
    assert "old: deleted 2 turns, and 1 session left empty." in retention("run", "old")
    assert stored() == 1
    [file] = folder.iterdir()
    assert f"old: 2 turns, 1 session\n  2 turns in {file}" in retention("receipts")
    imported = io.StringIO()
    call_command("logs", "import", str(file), stdout=imported, stderr=io.StringIO())
    assert "Turns: 2 new" in imported.getvalue()
    assert stored() == 3
    assert "(ran 20" in retention("list")
    assert retention("remove", "old") == "Removed 'old'.\n"
    assert retention("run") == "There are no rules.\n"
    assert "old: 2 turns" in retention("receipts")


def test_files_go_into_the_data_folder_by_default(turns: list[Recorded]) -> None:
    assert f"{settings.DATA_DIR}/archives as parquet" in retention(
        "add", "old", "started:<-30d", "--archive", "--format", "parquet"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["add", "old", "statsu:failed"], "statsu:failed\n^"),
        (["add", "old", ""], "a rule without a query would delete every turn"),
        (["add", "old", "is:waiting", "--folder", "x"], "say --archive as well"),
        (["run", "missing"], "There is no rule 'missing'."),
        (["remove", "missing"], "There is no rule 'missing'."),
    ],
)
def test_what_is_wrong_is_told(given: list[str], message: str) -> None:
    with pytest.raises(CommandError) as refused:
        retention(*given)
    assert message in str(refused.value)
