"""Reads the public list prices that ship with this server, and finds that of a model under any of its usual names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

_FILE = Path(__file__).with_suffix(".toml")
_NANO = Decimal(1000)
"""Dollars per million tokens × this = billionths of a dollar per token."""
_SCRIPTED = "scripted/"
"""The endpoint of scripted models, which cost nothing that a list could know."""
_HOSTS = re.compile(
    r"(models/|publishers/[a-z]+/models/|bedrock/(converse/)?|vertex_ai/|azure(_ai)?/|openai/|anthropic/|google/|gemini/"
    r"|mistral(ai)?/|deepseek/|x-?ai/|((us|eu|apac|au|jp|global)\.)?anthropic\.)"
)
_ENDINGS = re.compile(r"-v\d+(:\d+)?$")
_DATES = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


@dataclass(frozen=True, slots=True)
class ListPrice:
    """A public price, in billionths of a dollar per token; None where its list has none of its own."""

    model: str
    aliases: tuple[str, ...]
    input_nano: int
    output_nano: int
    cached_nano: int | None
    cache_write_nano: int | None


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of a provider: the address of its page, the day they were read and ``via`` what."""

    provider: str
    url: str
    read: date
    via: str
    prices: tuple[ListPrice, ...]


def lists() -> tuple[PriceList, ...]:
    """Return what ships, by provider; nothing where ``LIST_PRICES`` is off."""
    return _lists() if settings.LIST_PRICES else ()


def find(names: Iterable[str]) -> ListPrice | None:
    """Return the list price of the first of a model's names that has one."""
    model_names = tuple(names)
    if not settings.LIST_PRICES or any(name.startswith(_SCRIPTED) for name in model_names):
        return None
    rows = _by_name()
    return next((rows[form] for name in model_names for form in _forms(name) if form in rows), None)


def _forms(name: str) -> Iterator[str]:
    """Yield the names to look for, the most exact first: as it is, without its host, without its version or date."""
    lower = name.lower()
    yield lower
    short = lower
    while match := _HOSTS.match(short):
        short = short[match.end() :]
    short = _ENDINGS.sub("", short).replace("@", "-")
    yield short
    yield _DATES.sub("", short)


@cache
def _by_name() -> dict[str, ListPrice]:
    return {name: row for prices in _lists() for row in prices.prices for name in (row.model, *row.aliases)}


@cache
def _lists() -> tuple[PriceList, ...]:
    document = tomllib.loads(_FILE.read_text(encoding="utf-8"), parse_float=Decimal)
    return tuple(
        PriceList(
            provider["name"], provider["url"], provider["read"], provider["via"], tuple(map(_price, provider["models"]))
        )
        for provider in document["providers"]
    )


def _price(row: dict[str, Any]) -> ListPrice:
    return ListPrice(
        row["name"],
        tuple(row.get("aliases", ())),
        int(row["input"] * _NANO),
        int(row["output"] * _NANO),
        _nano(row.get("cached")),
        _nano(row.get("cache_write")),
    )


def _nano(dollars: Decimal | None) -> int | None:
    return None if dollars is None else int(dollars * _NANO)
