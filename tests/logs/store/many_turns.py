"""Many random turns with steps, written straight into their tables, each change told to the feed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.models.terms import TermKind
from agents.base.store import changes, scopes, terms
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.query.parser import parse
from agents.query.tree import Query
from agents.record.models.agents import Session
from agents.record.models.choices import LIVE, Api, Source, StepStatus, StepType, TurnStatus
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Response, Step, Turn, TurnBody
from agents.record.store import deletion
from tests.support.builders import make_agent

START_US = 1_793_664_000_000_000
"""2026-11-03, midnight in UTC."""
DAY_US = 86_400_000_000
SPAN_US = 4 * DAY_US
STATES = ["rows", "sealed", "in between"]
"""How much of the turns is sealed."""
MESSAGES = ("order … was not found", "HTTP 503", "Zeit ist um: *", "")
REASONS = ("", "end_of_turn", "out_of_tokens", "violation", "something of its own")


def asked(text: str, level: Any = "turn") -> Query:
    """A query, some days after the turns."""
    return parse(text, now_us=START_US + 20 * DAY_US, level=level)


class Many:
    """A store in the making: ``chance`` decides, ``actors`` own the turns."""

    def __init__(self, chance: random.Random, actors: Sequence[Actor]) -> None:
        self.chance = chance
        self.actors = list(actors)
        self.agents = [make_agent(actors[0], name=name) for name in ("support", "other", "third")]
        self._at_us = START_US
        self._sessions: list[tuple[int, Actor]] = []
        self._numbers: dict[int, int] = {}

    def add(self, count: int) -> None:
        """So many turns, each later than the last."""
        for _ in range(count):
            self._at_us += self.chance.randrange(SPAN_US // 150)
            self._write(lambda: self._turn(self._at_us))

    def late(self) -> None:
        """A turn that began long ago and is told only now."""
        self._write(lambda: self._turn(START_US + self.chance.randrange(max(self._at_us - START_US, 1))))

    def change(self) -> None:
        """A few turns, and steps of theirs, become something else."""
        for key in self._some(self.chance.choice((1, 8))):
            self.set(key, status=self.chance.choice(list(TurnStatus)), duration_us=self._amount(9_000_000))

    def set(self, key: int, **columns: Any) -> None:
        """Change columns of a turn, and the outcome of its first step."""

        def job() -> None:
            Turn.objects.unscoped("test").filter(pk=key).update(**columns)
            Step.objects.unscoped("test").filter(turn_id=key, number=0).update(status=StepStatus.FAILED)
            changes.note(ChangeKind.TURN, key)

        writer.write(job)

    def delete(self) -> None:
        live = Turn.objects.unscoped("test").filter(status__in=LIVE).values_list("pk", flat=True)
        keys = sorted({*self._some(2)} - {*live})  # what runs is not deleted
        writer.write(lambda: deletion.delete_turns(keys))

    def _some(self, count: int) -> list[int]:
        keys = list(Turn.objects.unscoped("test").order_by("pk").values_list("pk", flat=True))
        return self.chance.sample(keys, min(count, len(keys)))

    # ------------------------------------------------------------------------------------------ rows

    def _write(self, make: Callable[[], int]) -> None:
        writer.write(lambda: changes.note(ChangeKind.TURN, make()))

    def _amount(self, most: int, absent: float = 0.2) -> int | None:
        return None if self.chance.random() < absent else self.chance.randrange(most)

    def _term(self, kind: TermKind, *names: str) -> int | None:
        return terms.intern(kind, self.chance.choice(names))

    def _session(self, at_us: int) -> tuple[int, Actor]:
        if self._sessions and self.chance.random() < 0.7:
            return self.chance.choice(self._sessions)
        actor = self.chance.choice(self.actors)
        owned = self.chance.random() < 0.8
        session = Session.objects.create(
            owner_id=actor.user_id if owned else None,
            scope_id=scopes.scope_for(actor),
            agent_id=self.chance.choice([None, *(agent.key for agent in self.agents)]),
            name=f"session {len(self._sessions)}",
            created_at=to_datetime(at_us),
            updated_at=to_datetime(at_us),
        )
        self._sessions.append((session.pk, actor))
        return self._sessions[-1]

    def _turn(self, at_us: int) -> int:
        key = ids.new_key(at_us)
        session = Session.objects.unscoped("test").get(pk=self._session(at_us)[0])
        number = self._numbers[session.pk] = self._numbers.get(session.pk, -1) + 1
        status = self.chance.choice([*TurnStatus, *[TurnStatus.COMPLETED] * 7])
        priced = self.chance.random() < 0.7
        steps = [self._step(key, at, at_us, priced) for at in range(self.chance.randrange(6))]
        turn = Turn(
            pk=key,
            session=session,
            owner_id=session.owner_id,
            scope_id=session.scope_id,
            agent_id=session.agent_id,
            number=number,
            api=self.chance.choice(list(Api)),
            source=self.chance.choice(list(Source)),
            status=status,
            stop_reason=self.chance.choice(REASONS),
            model_id=self._term(TermKind.MODEL, "m1", "m2", "m3", ""),
            provider_id=self._term(TermKind.PROVIDER, "scripted", "other"),
            end_user_id=self._term(TermKind.END_USER, "u1", "u2", "u3", ""),
            error_type_id=terms.intern(TermKind.ERROR, "timeout") if status == TurnStatus.FAILED else None,
            error_message_id=self._term(TermKind.ERROR_MESSAGE, *MESSAGES) if status == TurnStatus.FAILED else None,
            started_at=to_datetime(at_us),
            duration_us=self._amount(5_000_000),
            waited_us=self._amount(90_000_000),
            ttft_us=self._amount(200_000),
            cost_nano=sum(step.cost_nano or 0 for step in steps) if priced else None,
            step_types=sum({1 << step.type for step in steps}),
            step_count=len(steps),
            tool_count=sum(step.type == StepType.TOOL_EXECUTION for step in steps),
            input_tokens=sum(step.input_tokens for step in steps),
            output_tokens=sum(step.output_tokens for step in steps),
        )
        turn.save(force_insert=True)
        TurnBody.objects.create(turn=turn, input_preview="asked", output_preview="answered")
        Step.objects.bulk_create(steps)
        Response.objects.create(
            turn=turn,
            number=1,
            api=turn.api,
            model_id=turn.model_id,
            status=status,
            created_at=turn.started_at,
            first_seq=0,
        )
        for kind, names in ((TermKind.TAG, ("vip", "slow")), (TermKind.META, ("env=prod", "plan=pro", "plan=free"))):
            for name in self.chance.sample(names, self.chance.choice((0, 0, 1, 2))):
                term = self._term(kind, name)
                assert term is not None
                TurnTag.objects.create(term_id=term, turn_id=key)
        return key

    def _step(self, turn: int, number: int, at_us: int, priced: bool) -> Step:
        type_ = self.chance.choice(list(StepType))
        tool = self._term(TermKind.TOOL, "search", "fetch") if type_ == StepType.TOOL_EXECUTION else None
        status = self.chance.choice([StepStatus.COMPLETED] * 4 + [StepStatus.FAILED])
        inference = type_ == StepType.INFERENCE
        return Step(
            turn_id=turn,
            number=number,
            agent_id=self.chance.choice(self.agents).key if self.chance.random() < 0.2 else None,
            type=type_,
            tool_id=tool,
            model_id=self._term(TermKind.MODEL, "m1", "m2") if inference else None,
            status=status,
            server_side=self.chance.random() < 0.7,
            answered_by_id=self._term(TermKind.ANSWERER, "maria", "", "") if tool else None,
            violation=type_ == StepType.SHIELD_CALL and self.chance.random() < 0.3,
            started_at=to_datetime(at_us + number * 1000),
            duration_us=self._amount(3_000_000),
            waited_us=None if inference else self._amount(90_000_000),
            ttft_us=self._amount(200_000) if inference else None,
            input_tokens=self.chance.randrange(2000) if inference else 0,
            output_tokens=self.chance.randrange(500) if inference else 0,
            cost_nano=self.chance.randrange(500_000) if inference and priced else None,
        )
