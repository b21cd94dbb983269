"""The only place that mints keys, reads the wall clock, and forms public ids.

A *key* is a 63-bit integer: milliseconds since 2025-01-01 UTC, shifted by 20 bits, plus a
sequence. It is the primary key of a row (on SQLite the rowid itself), so rows lie in time order
and a time range is a key range. The sequence starts at random in each process and runs freely:
two processes in the same millisecond then almost never collide. It wraps, so the order *inside*
a turn is its ``seq``, never the key.

A *public id* is a UUID (version 8) made of the key and a keyed checksum over kind and key: no
second index is needed, ids cannot be guessed, and one of the wrong kind is simply not found.
Integers never reach JSON: JavaScript would round them.
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache
from hashlib import blake2b
from uuid import UUID

EPOCH_MS = 1_735_689_600_000
SEQUENCE_BITS = 20
_CHECK_BITS = 59
_CHECK_MASK = (1 << _CHECK_BITS) - 1


class Kind(IntEnum):
    """What a public id names. The numbers go into the checksum and must never change."""

    AGENT = 1
    SESSION = 2
    TURN = 3
    STEP = 4
    RESPONSE = 5
    ITEM = 6
    KEY = 7
    REQUEST = 8
    REVISION = 9
    COMPLETION = 20
    TOOLGROUP = 30
    SHIELD = 31
    MODEL = 32
    VECTOR_DB = 33
    VECTOR_DOCUMENT = 34
    FILE = 40
    VECTOR_STORE = 41
    FILE_BATCH = 42
    UPLOAD = 43
    UPLOAD_PART = 44
    BATCH = 45
    BATCH_LINE = 46
    FEEDBACK = 50
    VIEW = 51
    IMPORT = 52
    TRACE = 53
    WEBHOOK_ENDPOINT = 60
    WEBHOOK_EVENT = 61
    WEBHOOK_DELIVERY = 62
    BUDGET = 63
    PROMPT = 64
    AUTOMATION = 70
    AUTOMATION_RUN = 71


_secret = b"unset"
_sequence = itertools.count(secrets.randbelow(1 << SEQUENCE_BITS))


class SteadyClock:
    """The wall clock, but never backwards.

    Where the wall clock is ahead of the time elapsed since the last call (set forward, or the machine
    slept), it is followed at once. Where it is behind (set back), time goes on from where it was, a
    hundredth slower, until the wall clock has caught up, or the next start: durations stay right to a
    hundredth, and keys in order. Until then timestamps are ahead of the wall clock by what that was set
    back. Any thread may call it: its state is one tuple, replaced at once.
    """

    SLOWER = 100

    def __init__(self, wall_ns: Callable[[], int], elapsed_ns: Callable[[], int]) -> None:
        self._wall_ns, self._elapsed_ns = wall_ns, elapsed_ns
        self._last = wall_ns(), elapsed_ns()

    def __call__(self) -> int:
        """Microseconds since 1970."""
        (last_wall, last_elapsed), now, wall = self._last, self._elapsed_ns(), self._wall_ns()
        passed = now - last_elapsed
        minimum = last_wall + passed - passed // self.SLOWER
        if wall < minimum:
            return minimum // 1000
        self._last = wall, now
        return wall // 1000


_wall_clock = SteadyClock(lambda: time.time_ns(), time.monotonic_ns)
_clock: Callable[[], int] = _wall_clock


def configure(secret: str) -> None:
    """Set the secret of the checksums. Changing it makes every public id handed out before void."""
    global _secret
    _secret = blake2b(secret.encode(), digest_size=32).digest()
    public.cache_clear()


def fingerprint() -> bytes:
    """Return what tells this secret from others and does not reveal it: 16 bytes."""
    return blake2b(b"fingerprint of the secret of public ids", key=_secret, digest_size=16).digest()


def use_clock(clock: Callable[[], int] | None) -> None:
    """Replace the wall clock (tests, demo data); None restores it. Microseconds since 1970."""
    global _clock
    _clock = clock or _wall_clock


def now_us() -> int:
    """The time in microseconds since 1970 UTC: the wall clock's, never backwards (see `SteadyClock`)."""
    return _clock()


def new_key(at_us: int | None = None) -> int:
    """Mint a key for now, or for the time ``at_us`` (microseconds since 1970)."""
    return first_key(now_us() if at_us is None else at_us) | (next(_sequence) & 0xFFFFF)


def first_key(at_us: int) -> int:
    """Return the smallest key of that time: the bound of a time range."""
    return max(at_us // 1000 - EPOCH_MS, 0) << SEQUENCE_BITS


def key_time_us(key: int) -> int:
    """Return the time a key was minted for, to the millisecond, in microseconds since 1970."""
    return ((key >> SEQUENCE_BITS) + EPOCH_MS) * 1000


def _check(kind: int, key: int) -> int:
    data = kind.to_bytes(1, "big") + key.to_bytes(8, "big")
    return int.from_bytes(blake2b(data, key=_secret, digest_size=8).digest(), "big") & _CHECK_MASK


@lru_cache(maxsize=65_536)
def public(kind: Kind, key: int) -> str:
    """Return the public id of a row: a UUID as text that sorts as the keys do."""
    high, low = key >> 15, key & 0x7FFF
    value = high << 80 | 8 << 76 | (low >> 3) << 64 | 2 << 62 | (low & 7) << _CHECK_BITS
    digits = f"{value | _check(kind, key):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def parse(kind: Kind, text: str) -> int | None:
    """Return the key of a public id; None when it is not one of ours, or of another kind."""
    try:
        value = UUID(text).int
    except (ValueError, AttributeError, TypeError):
        return None
    low = ((value >> 64) & 0xFFF) << 3 | (value >> _CHECK_BITS) & 7
    key = (value >> 80) << 15 | low
    if key >> 63 or public(kind, key) != text.lower():
        return None
    return key


OPENAI_PREFIXES = {
    Kind.RESPONSE: "resp_",
    Kind.SESSION: "conv_",
    Kind.COMPLETION: "chatcmpl-",
    Kind.FILE: "file-",
    Kind.VECTOR_STORE: "vs_",
    Kind.FILE_BATCH: "vsfb_",
    Kind.UPLOAD: "upload_",
    Kind.UPLOAD_PART: "part_",
    Kind.BATCH: "batch_",
    Kind.WEBHOOK_ENDPOINT: "we_",
    Kind.WEBHOOK_EVENT: "evt_",
    Kind.WEBHOOK_DELIVERY: "wh_",
    Kind.BUDGET: "budget_",
    Kind.PROMPT: "pmpt_",
    Kind.AUTOMATION: "auto_",
    Kind.AUTOMATION_RUN: "autorun_",
}


def openai(kind: Kind, key: int) -> str:
    """Return the id of a row in OpenAI's APIs: a prefix and the public id's 32 digits."""
    return OPENAI_PREFIXES[kind] + public(kind, key).replace("-", "")


def parse_openai(kind: Kind, text: str) -> int | None:
    """Return the key of an id of OpenAI's APIs; None when it is not one of ours."""
    digits = text.removeprefix(OPENAI_PREFIXES[kind])
    return None if digits == text else _parse_digits(kind, digits)


def _parse_digits(kind: Kind, digits: str) -> int | None:
    if len(digits) != 32:
        return None
    return parse(kind, f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")


_SPELLINGS = {
    Kind.AGENT: ("agent_",),
    Kind.SESSION: ("sess_", "conv_"),
    Kind.TURN: ("turn_",),
    Kind.COMPLETION: ("chatcmpl-", "msg_"),
}


def parse_spelled(kind: Kind, text: str) -> int | None:
    """Return the key of a record in any spelling of its id: the public id, or a prefix and its 32 digits as OpenAI's
    APIs have them; None when it is not one of ours."""
    key = parse(kind, text)
    if key is not None:
        return key
    prefix = next((prefix for prefix in _SPELLINGS[kind] if text.startswith(prefix)), None)
    return None if prefix is None else _parse_digits(kind, text.removeprefix(prefix))


def part(prefix: str, kind: Kind, key: int) -> str:
    """Return the id of an OpenAI object that is a part of a row: a step is a message (``msg``), its reasoning
    (``rs``), a call (``fc``, ``mcp``, …)."""
    return f"{prefix}_{public(kind, key).replace('-', '')}"


def parse_part(kind: Kind, text: str) -> int | None:
    """Return the key of an id that `part` made, whatever its prefix; None when it is not one of ours."""
    return _parse_digits(kind, text.rpartition("_")[2])
