"""A made-up town register: as many entries as wanted, each with a question only it answers.

The same number always gives the same entries. All entries share their common words, as those of a real
collection do; names and trades repeat, and only together they tell an entry from the others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

_SYLLABLES = "ba bel cor da den el fa gor han il jo ka lin mar nor o pel ran sil tor ul ven wy zan".split()  # noqa: SIM905
_TRADES = "baker brewer carter cooper dyer fisher glazier miller potter saddler smith tanner weaver wright".split()  # noqa: SIM905
_GOODS = "barley bricks candles cloth copper flax honey leather lime rope salt slate timber wax wool".split()  # noqa: SIM905
_PLACES = ["by the river", "behind the mill", "at the north gate", "under the bridge", "on the market square"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; ``question`` shares only some of its words."""

    name: str
    text: str
    question: str


def entries(count: int) -> Iterator[Entry]:
    """So many entries."""
    chance = random.Random(count)
    for number in range(count):
        person, town = _word(chance, 3), _word(chance, 2)
        trade, sold, bought = chance.choice(_TRADES), chance.choice(_GOODS), chance.choice(_GOODS)
        year, place = chance.randrange(1600, 1900), chance.choice(_PLACES)
        text = (
            f"In the year {year} {person.title()} the {trade} of {town.title()} sold {sold} and bought {bought}. "
            f"The house of the {trade} stood {place}, and the tax on it was {chance.randrange(3, 90)} shillings. "
            f"It is written in the register of the town that {chance.randrange(2, 12)} people lived there."
        )
        yield Entry(f"entry-{number}", text, f"What did the {trade} {person.title()} in {town.title()} sell, and when?")


def _word(chance: random.Random, syllables: int) -> str:
    return "".join(chance.choice(_SYLLABLES) for _ in range(syllables))
