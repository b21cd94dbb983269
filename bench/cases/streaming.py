"""What the cases of streamed turns share: many turns, each in a session of its own, and their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.client import at_a_time, check_answers
from bench.figures import Row, Target, latency
from bench.processes import Meter
from bench.stage import Stage
from bench.streams import Timing

WARM_UP = 4


def crowd(width: int) -> str:
    """How many at a time, in words."""
    return "alone" if width == 1 else f"{width} at a time"


def beside_endpoint(what: str, meter: Meter) -> Iterator[Row]:
    """How many times the CPU that the same tokens cost the endpoint, in the same seconds on the same machine."""
    if meter.cpu_s is not None and meter.beside_s:
        yield Row(what, "server CPU / endpoint CPU", meter.cpu_s / meter.beside_s, "×")


@dataclass(frozen=True, slots=True)
class Streams:
    """Streams that passed their checks, and what they took."""

    what: str
    timings: Sequence[Timing]
    meter: Meter

    @property
    def tokens(self) -> int:
        return sum(timing.tokens for timing in self.timings)

    def cpu(self, target: Target | None = None, peer: str = "", who: str = "server") -> Iterator[Row]:
        """CPU per token, where the process is known, and how many times the endpoint's that is."""
        if self.meter.cpu_s is None:
            return
        note = f"{self.meter.cpu_s:.2f} s CPU in {self.meter.wall_s:.2f} s, {self.tokens:,} tokens"
        value = 1e6 * self.meter.cpu_s / self.tokens
        yield Row(self.what, f"{who} CPU per token", value, "µs", target, peer, note)
        yield from beside_endpoint(self.what, self.meter)

    def cpu_of_each(self, target: Target | None = None) -> Iterator[Row]:
        """CPU per stream, where the process is known."""
        if self.meter.cpu_s is not None:
            yield Row(self.what, "server CPU per turn", 1000 * self.meter.cpu_s / len(self.timings), "ms", target)

    def first_event(self, target: Target | None = None, peer: str = "") -> Row:
        return latency(self.what, "first event", [one.first_event_s for one in self.timings], target, peer=peer)

    def total(self, target: Target | None = None, peer: str = "") -> Row:
        rate = f"{self.tokens / self.meter.wall_s:,.0f} tokens/s"
        return latency(self.what, "whole stream", [one.total_s for one in self.timings], target, peer=peer, note=rate)


async def turns(stage: Stage, model: str, *, width: int, count: int) -> Streams:
    """``count`` turns, ``width`` at a time, once as many have warmed up. Fresh sessions, so that
    no turn has a history."""
    api, before = stage.api, max(WARM_UP, width)
    agent = await api.create_agent(model)
    places = await api.sessions(agent, count + before)
    await at_a_time(width, before, lambda number: api.turn(places[count + number], model))
    with stage.meter() as meter:
        timings = await at_a_time(width, count, lambda number: api.turn(places[number], model))
    check_answers(timings, model)
    return Streams(f"turn, {model}, {crowd(width)}", timings, meter)
