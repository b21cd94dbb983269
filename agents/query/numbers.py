"""Read and write amounts with units: ``250ms``, ``1.5k``, ``$0.05``, ``10KB``.

Reading gives the stored unit (microseconds, billionths of a dollar, a count, bytes); writing gives
the shortest form that reads back as exactly the same number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from agents.query.scanner import Scalar, excerpt
from agents.query.tree import Number, NumberRange, Unit

_AMOUNT = re.compile(r"([$-]?)(\d{1,20}(?:\.\d{1,20})?|\.\d{1,20})([A-Za-zµμ]*)", re.ASCII)
_MAX_AMOUNT = 1 << 63

_FACTORS: Mapping[Unit, Mapping[str, int]] = {
    "us": {"us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6, "d": 86_400 * 10**6},
    "nano_usd": {"": 10**9},
    "count": {"": 1, "k": 10**3, "M": 10**6},
    "bytes": {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9},
    "any": {"": 1, "k": 10**3, "M": 10**6},
}
_UNIT_ALIASES: Mapping[Unit, Mapping[str, str]] = {
    "us": {"µs": "us", "μs": "us", "sec": "s", "min": "m"},
    "nano_usd": {"usd": ""},
    "count": {},
    "bytes": {"": "B", "k": "KB"},
    "any": {},
}
_EXPECTED: Mapping[Unit, str] = {
    "us": "a length of time with its unit, such as 250ms, 2s, 1m or 1h",
    "nano_usd": "dollars, such as $0.05",
    "count": "a number, such as 500, 1k or 1.5M",
    "bytes": "a size, such as 500B, 10KB or 2MB",
    "any": "a number, such as 0.8, -1 or 1.5k",
}
_SIGN: Mapping[Unit, str] = {"nano_usd": "$", "any": "-"}


def read_number(scalar: Scalar, unit: Unit) -> Number:
    """Read one amount. Raises QuerySyntax for anything but one amount of that unit."""
    return Number(value=_amount(scalar, scalar.value, unit), unit=unit)


def read_numbers(scalar: Scalar, unit: Unit) -> NumberRange:
    """Read ``a..b``, ``a..`` or ``..b``."""
    low, _, high = scalar.value.partition("..")
    if not low and not high:
        raise scalar.error("A range needs an end: 1k..5k, 1k.. or ..5k")
    ends = [_amount(scalar, end, unit) if end else None for end in (low, high)]
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        raise scalar.error("This range ends below its start", better=f"{high}..{low}")
    return NumberRange(low=ends[0], high=ends[1], unit=unit)


def _amount(scalar: Scalar, text: str, unit: Unit) -> int | float:
    match = _AMOUNT.fullmatch(text)
    factor = _factor(match[3], unit) if match else None
    if match is None or factor is None or (match[1] and match[1] != _SIGN.get(unit)):
        raise _amount_error(scalar, text, unit)
    amount = Decimal(match[2]) * (-factor if match[1] == "-" else factor)
    if abs(amount) >= _MAX_AMOUNT:
        raise scalar.error(f"{excerpt(text)} is too large")
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def _factor(suffix: str, unit: Unit) -> int | None:
    """Return the factor of a suffix, in any case; None for an unknown unit."""
    folded = {name.lower(): factor for name, factor in _FACTORS[unit].items()}
    other = _UNIT_ALIASES[unit].get(suffix.lower(), suffix)
    return folded.get(other.lower())


def _amount_error(scalar: Scalar, text: str, unit: Unit) -> Exception:
    better = f"{text}s" if unit == "us" and text.replace(".", "", 1).isdecimal() else None
    hint = f". Did you mean {better}?" if better else ""
    suggestion = None if better is None else scalar.value.replace(text, better)
    return scalar.error(f"{excerpt(text)} is not {_EXPECTED[unit]}{hint}", better=suggestion)


def number_text(value: float, unit: Unit) -> str:
    """Write an amount as people do: in the largest unit that needs at most one decimal, else in
    the smallest. ``1_500_000`` microseconds → ``1.5s``."""
    amount = Decimal(repr(value))
    sign = "$" if unit == "nano_usd" else ""
    smallest, *_ = _FACTORS[unit]
    for suffix, factor in reversed(list(_FACTORS[unit].items())):
        tenths = amount * 10 / factor
        if sign or suffix == smallest or (abs(tenths) >= 10 and tenths == tenths.to_integral_value()):
            return f"{sign}{_decimal_text(amount / factor)}{suffix}"
    raise AssertionError(unit)


def _decimal_text(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
