"""What a turn's page says of a process that was lost: where the turn was taken over, what became of the steps that
were cut, and the form in which a person decides about a call in doubt. Knows no request and no tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base import ids
from agents.base.errors import InvalidRequest
from agents.pages.step_cards import RecoveryNote, StepCard
from agents.record.schemas.events import RULE, CallOutcome, StepDecided, StepInDoubt, StepRepeated, TurnTakenOver
from agents.record.schemas.turns import StepSnapshot
from agents.record.store.decisions import Decision
from agents.record.store.recovery import RecoveryEvent
from agents.uikit import format

_OUTCOMES: dict[CallOutcome, str] = {
    "done": gettext_noop("Decided: it was made"),
    "not_done": gettext_noop("Decided: it was not made"),
    "result": gettext_noop("Decided: here is its result"),
}


@dataclass(frozen=True, slots=True)
class TakeoverLine:
    """A takeover in the flow of its turn, behind the step of that number: -1 where none had begun. ``at`` is in
    microseconds since 1970."""

    name: str
    after_step: int
    text: str
    at: int

    @property
    def number(self) -> float:
        """The position between the steps."""
        return self.after_step + 0.5


@dataclass(frozen=True, slots=True)
class Recovery:
    """The events of a turn that follow from the loss of its process, in order."""

    events: Sequence[RecoveryEvent] = ()

    @property
    def doubts(self) -> Mapping[int, int]:
        """The steps whose calls are in doubt, and since when (microseconds since 1970). Steps of a turn that has
        ended are among them."""
        since: dict[int, int] = {}
        for event in self.events:
            if isinstance(event, StepInDoubt):
                since.setdefault(event.step, event.at)
            elif isinstance(event, StepDecided | StepRepeated):
                since.pop(event.step, None)
        return since

    def as_waiting(self, steps: Sequence[StepSnapshot]) -> Sequence[StepSnapshot]:
        """These steps, of a turn that goes on: those whose calls are in doubt wait, and do not run."""
        doubts = self.doubts
        return [replace(step, status="awaiting_input") if step.key in doubts else step for step in steps]

    def has_cut(self, step: StepSnapshot) -> bool:
        """Whether the turn was taken over in the middle of a step that then ended."""
        end = step.completed_at
        return end is not None and any(
            isinstance(event, TurnTakenOver) and step.started_at < event.at <= end for event in self.events
        )

    def notes(self, step: int) -> Iterator[RecoveryNote]:
        """What became of the call of a step: decisions, and when it was made again."""
        for event in self.events:
            if isinstance(event, StepDecided) and event.step == step:
                by = _("the rule of its tool") if event.by == RULE else event.by
                yield RecoveryNote(_(_OUTCOMES[event.outcome]), event.at, by)
            elif isinstance(event, StepRepeated) and event.step == step:
                yield RecoveryNote(_("Called again after its process was lost"), event.at)

    def lines(self, steps: Sequence[StepSnapshot]) -> Iterator[TakeoverLine]:
        """The takeovers, each behind the last of these steps that had begun."""
        decided = False
        for event in self.events:
            if isinstance(event, TurnTakenOver):
                before = [step.number for step in steps if step.started_at < event.at]
                text = _takeover_text(event, was_decided=decided)
                yield TakeoverLine(takeover_name(event.seq), max(before, default=-1), text, event.at)
            decided = isinstance(event, StepDecided)


NOTHING_LOST = Recovery()
"""Of a turn that kept its process."""


def takeover_name(seq: int) -> str:
    """The name of a takeover among the steps of its turn, by the number of its event."""
    return f"takeover-{seq}"


def _takeover_text(event: TurnTakenOver, *, was_decided: bool) -> str:
    values = {"process": event.by, "time": format.duration(event.idle_us / 1000), "attempt": event.attempt}
    if was_decided:
        return _("Continues after the decision, on %(process)s") % values
    if event.cause == "handed_over":
        return _("Handed over to %(process)s after %(time)s: the process that ran it was stopped") % values
    if event.attempt > 1:
        text = _("Taken over after %(time)s by %(process)s, attempt %(attempt)d: the process that ran it was lost")
        return text % values
    return _("Taken over after %(time)s by %(process)s: the process that ran it was lost") % values


def marked(card: StepCard, step: StepSnapshot, recovery: Recovery, *, is_over: bool) -> StepCard:
    """Return the card of a step with what became of it after its process was lost. Nobody decides in a turn that
    ``is_over``."""
    if not recovery.events:
        return card
    doubts = {} if is_over else recovery.doubts
    card = replace(card, recovery=tuple(recovery.notes(step.key)))
    if step.key in doubts:
        return replace(
            card,
            status="awaiting_input",
            note=_("waits for a decision: its process was lost, so it is unknown whether the call was made"),
            since=doubts[step.key],
            in_doubt=True,
            is_last_call=step.key == list(doubts)[-1],
        )
    if card.type == "inference" and card.status == "interrupted" and recovery.has_cut(step):
        return replace(card, note=_("cut attempt: its process was lost, and the model was asked again"))
    return card


def read_decisions(posted: Mapping[str, str]) -> list[Decision]:
    """Read a posted form: ``outcome:<step id>``, and ``result:<step id>`` where that is ``result``. Raises
    InvalidRequest."""
    chosen = {name.partition(":")[2]: text for name, text in posted.items() if name.startswith("outcome:")}
    if not chosen:
        raise InvalidRequest("Say what became of the call.", param="outcome")
    return [_decision(step_id, outcome, posted.get(f"result:{step_id}", "")) for step_id, outcome in chosen.items()]


def _decision(step_id: str, outcome: str, result: str) -> Decision:
    step = ids.parse(ids.Kind.STEP, step_id)
    if step is None:
        raise InvalidRequest("This form names no step.", param="outcome")
    match outcome:
        case "done" | "not_done":
            return Decision(step, outcome)
        case "result":
            return Decision(step, outcome, result.replace("\r\n", "\n"))
        case _:
            raise InvalidRequest("Say whether the call was made.", param="outcome")
