"""Whatever refers to a record goes with it, or lets go of it, as its model declares: no table is named here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.db.migrations.writer import MigrationWriter
from django.test.utils import CaptureQueriesContext, isolate_apps

from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.record.models.agents import Session
from agents.record.models.references import DeletionRule
from agents.record.models.turns import Response, Step, Turn
from agents.record.store import deletion, references, removal, write_steps
from agents.server import checks
from tests.support.builders import Recorded, make_agent, make_session, make_turn

pytestmark = pytest.mark.django_db
Table = type[models.Model]
RECORDS: tuple[Table, ...] = (Session, Turn, Step, Response)
NUMBERS: dict[str, Table] = {"session_id": Session, "turn_id": Turn, "step_id": Step, "response_id": Response}
SCRIPT = 'call calculator {"expression": "1+1"}\n' * 3 + "say Done."
META = type("Meta", (), {"app_label": "agents"})
numbers = count(1_000)


def target_of(column: Any) -> Table | None:
    """What a column refers to; None where the row may outlive that."""
    if getattr(column, "on_delete", None) is models.DO_NOTHING:
        return None
    target: Table | None = column.related_model or NUMBERS.get(column.attname)
    return target


def referring(table: Table) -> Iterator[tuple[Any, Table]]:
    """The columns of a table that refer to other tables."""
    for column in table._meta.local_concrete_fields:
        if target := target_of(column):
            yield column, target


def below(*records: Table) -> list[Table]:
    """The tables that refer to these records, or to a table that does, except the records themselves."""
    reached = set(records)
    while (
        more := {table for table in apps.get_models() if {target for _, target in referring(table)} & reached} - reached
    ):
        reached |= more
    return [table for table in apps.get_models() if table in reached and table not in RECORDS]


Keys = dict[Table, Any]


def fill(records: Keys, *of: Table) -> None:
    """A row about these records in each table below them that can have one."""
    made, inside = dict(records), {*RECORDS, *below(*RECORDS)}
    for table in below(*of):
        targets = [(column, target) for column, target in referring(table) if target in inside]
        if not any(target in made for _, target in targets):
            continue  # it would be about none of these
        if any(target not in made and not column.null for column, target in targets):
            continue
        row = table(
            **{
                column.attname: value(column, made)
                for column in table._meta.local_concrete_fields
                if is_needed(column, made)
            }
        )
        table._base_manager.bulk_create([row], ignore_conflicts=True)  # what the turn has already stays
        if not isinstance(table._meta.pk, models.CompositePrimaryKey):
            made[table] = row.pk


def is_needed(column: Any, made: Keys) -> bool:
    if isinstance(column, models.CompositePrimaryKey | models.AutoField):
        return False
    return target_of(column) in made or not (column.null or column.has_default() or column.has_db_default())


def value(column: Any, made: Keys) -> Any:
    target = target_of(column)
    if target is not None:
        return made[target] if target in made else some_row(target)
    if isinstance(column, models.BooleanField | models.FloatField):
        return 0
    number = next(numbers)
    if isinstance(column, models.IntegerField):
        return number
    return b"x" if isinstance(column, models.BinaryField) else str(number)


def some_row(table: Table) -> Any:
    """A row that has nothing to do with the records; one is made where there is none."""
    found = table._base_manager.values_list("pk", flat=True).first()
    if found is not None:
        return found
    columns = [column for column in table._meta.local_concrete_fields if is_needed(column, {})]
    row = table(**{column.attname: value(column, {}) for column in columns})
    table._base_manager.bulk_create([row])
    return row.pk


def keys_of(made: Recorded) -> Keys:
    steps = Step.objects.unscoped("test").filter(turn_id=made.turn).order_by("-number")
    responses = Response.objects.unscoped("test").filter(turn_id=made.turn)
    return {
        Session: made.session,
        Turn: made.turn,
        Step: steps.values_list("pk", flat=True).first(),
        Response: responses.values_list("pk", flat=True).first(),
    }


def rows(*of: Table) -> dict[Table, int]:
    return {table: table._base_manager.count() for table in [*of, *below(*of)] if not outlives(table)}


def outlives(table: Table) -> bool:
    """Whether the rows of a table let go of all records that they refer to, and stay."""
    inside = {*RECORDS, *below(*RECORDS)}
    rules = [rule_of(column) for column, target in referring(table) if target in inside]
    return table not in RECORDS and all(rule == models.SET_NULL for rule in rules)


def rule_of(column: Any) -> Any:
    return column.remote_field.on_delete if column.remote_field else column.on_delete


def dangling(*, checked_only: bool = False) -> list[str]:
    """The columns of all tables that refer to a row that is not there; only those with a constraint, if asked."""
    return [
        f"{table.__name__}.{column.name}"
        for table in apps.get_models()
        for column, target in referring(table)
        if not checked_only or getattr(column, "db_constraint", False)
        if table._base_manager.exclude(**{column.attname: None})
        .exclude(**{f"{column.attname}__in": target._base_manager.values("pk")})
        .exists()
    ]


@pytest.fixture
def portions_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "ROWS_PER_JOB", 2)
    monkeypatch.setattr(removal, "STEPS_PER_JOB", 1)


def delete_session(key: int) -> None:
    writer.write(partial(deletion.delete_sessions, [key]))


def remove_session(key: int) -> None:
    removal.remove_sessions([key])


def delete_turn(key: int) -> None:
    writer.write(partial(deletion.delete_turns, [key]))


def remove_turn(key: int) -> None:
    removal.empty(key)
    delete_turn(key)


def whole_session(admin: Actor) -> int:
    """A session of two turns, with rows about it alone, about each of the turns and about a step of each."""
    agent = make_agent(admin)
    session = make_session(admin, agent)
    fill({Session: session}, Session)
    for _ in range(2):
        keys = keys_of(make_turn(admin, SCRIPT, agent=agent, session=session))
        fill({Session: session, Turn: keys[Turn]}, Turn)
        fill(keys, *RECORDS[1:])
    return session


@pytest.mark.usefixtures("portions_are_small")
@pytest.mark.parametrize("delete", [delete_session, remove_session])
def test_all_that_refers_to_a_session_goes_with_it(admin: Actor, delete: Callable[[int], None]) -> None:
    whole_session(admin)
    before = rows(*RECORDS)
    session = whole_session(admin)
    assert [table.__name__ for table, rows_now in rows(*RECORDS).items() if rows_now <= before[table]] == []
    assert dangling() == []
    delete(session)
    assert rows(*RECORDS) == before
    assert dangling() == []
    connection.check_constraints()


@pytest.mark.usefixtures("portions_are_small")
@pytest.mark.parametrize("delete", [delete_turn, remove_turn])
def test_all_that_refers_to_a_turn_goes_with_it_or_lets_go(admin: Actor, delete: Callable[[int], None]) -> None:
    agent = make_agent(admin)
    session = make_session(admin, agent)
    kept = keys_of(make_turn(admin, SCRIPT, agent=agent, session=session))
    fill(kept, *RECORDS)
    before = rows(Turn, Step, Response)
    deleted = keys_of(make_turn(admin, SCRIPT, agent=agent, session=session))
    fill(deleted, Turn, Step, Response)
    assert refer(kept, deleted) > 2
    assert dangling() == []
    delete(deleted[Turn])
    assert rows(Turn, Step, Response) == before
    assert dangling() == []
    connection.check_constraints()


def refer(kept: Keys, deleted: Keys) -> int:
    """Let rows about the kept turn refer to the deleted one, wherever they may; returns how many do."""
    updated = 0
    for table in [*RECORDS[1:], *below(Turn, Step, Response)]:
        for column, target in referring(table):
            rule = column.remote_field.on_delete if column.remote_field else None
            if rule == models.SET_NULL and target in deleted and getattr(rule, "within", "") != "turn":
                owner = "pk" if table in RECORDS else "turn_id"
                about = table._base_manager.filter(**{owner: kept[table if table in RECORDS else Turn]})
                updated += about.update(**{column.attname: deleted[target]})
    return updated


def test_nothing_refers_to_a_step_that_is_no_longer_reported(admin: Actor) -> None:
    keys = keys_of(make_turn(admin, SCRIPT))
    fill(keys, *RECORDS)
    writer.write(partial(write_steps.delete, [keys[Step]]))
    assert not Step.objects.unscoped("test").filter(pk=keys[Step]).exists()
    assert dangling(checked_only=True) == []
    connection.check_constraints()


def test_more_turns_take_no_more_statements(admin: Actor) -> None:
    taken = []
    for turns in (2, 9):
        agent = make_agent(admin)
        session = make_session(admin, agent)
        for _ in range(turns):
            make_turn(admin, SCRIPT, agent=agent, session=session)
        with CaptureQueriesContext(connection) as statements:
            delete_session(session)
        taken.append(len(statements))
    assert taken[0] == taken[1]


# ----------------------------------------------------------------------------------- what is declared


def with_table(**columns: Any) -> references.References:
    """All tables, and one of notes with these columns."""
    with isolate_apps("agents"):
        note = type("Note", (models.Model,), {"Meta": META, "__module__": __name__, **columns})
    return references.References([*apps.get_models(), note])


def test_a_new_table_needs_its_declaration_alone(admin: Actor) -> None:
    keys = keys_of(make_turn(admin, SCRIPT))
    step = models.ForeignKey(Step, on_delete=models.CASCADE, related_name="+")
    reply = models.ForeignKey(Turn, null=True, on_delete=models.SET_NULL, related_name="+")
    known = with_table(step=step, reply_to=reply)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE agents_note (id integer PRIMARY KEY, step_id bigint, reply_to_id bigint)")
        cursor.execute("INSERT INTO agents_note VALUES (1, %s, NULL), (2, 1, %s)", [keys[Step], keys[Turn]])
        known.plan(Turn).delete([keys[Turn]])
        cursor.execute("SELECT id, step_id, reply_to_id FROM agents_note")
        assert cursor.fetchall() == [(2, 1, None)]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ({"turn": lambda: key(models.PROTECT)}, "Note.turn refers to Turn, .*: its on_delete must be CASCADE"),
        ({"turn": lambda: key(models.DO_NOTHING)}, "Note.turn refers to Turn, .*: its on_delete must be CASCADE"),
        ({"turn": lambda: key(models.CASCADE, db_index=False)}, "Note.turn .* no index begins with it"),
        (
            {"turn": lambda: key(DeletionRule(models.CASCADE, within="step"))},
            "Note has no foreign key 'step' with CASCADE",
        ),
        ({"step_id": models.BigIntegerField}, "Note.step_id looks like the key of a record"),
    ],
)
def test_a_reference_without_a_rule_is_an_error(column: dict[str, Callable[[], Any]], problem: str) -> None:
    with pytest.raises(references.UndeclaredReference, match=problem):
        with_table(**{name: make() for name, make in column.items()})


@isolate_apps("agents")
def test_the_check_of_the_server_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(checks.tables()) == []
    note = type("Note", (models.Model,), {"Meta": META, "__module__": __name__, "turn": key(models.PROTECT)})
    with monkeypatch.context() as patch:
        patch.setitem(apps.all_models["agents"], "note", note)
        apps.clear_cache()
        [error] = checks.tables()
    apps.clear_cache()
    assert error.id == "agents.E006"
    assert "Note.turn" in error.msg


def key(on_delete: Any, **options: Any) -> Any:
    return models.ForeignKey(Turn, on_delete=on_delete, related_name="+", **options)


def test_migrations_hold_what_django_knows() -> None:
    rule = DeletionRule(models.CASCADE, within="turn", merged=models.SET_NULL)
    assert MigrationWriter.serialize(rule) == MigrationWriter.serialize(models.CASCADE)
    assert key(rule).deconstruct() == key(models.CASCADE).deconstruct()


def test_a_circle_is_an_error() -> None:
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="+")
    known = with_table(turn=key(models.CASCADE), parent=parent)
    with pytest.raises(references.UndeclaredReference, match=r"Note\.parent closes a circle"):
        known.plan(Turn)
