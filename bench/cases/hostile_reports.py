"""Reports that are made to harm: bodies that unpack to far more than they are, values that cost far more than their
bytes, and mangled reports. Each must be refused or taken, never fail, and leave the server as small as it was."""

from __future__ import annotations

import gzip
import random
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import zstandard

from bench.cases.ingest import report
from bench.client import Api
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.processes import family, memory_mb
from bench.stage import Stage

JSON, PROTOBUF = "application/json", "application/x-protobuf"
MIB = 2**20
UNPACKED = 1024 * MIB
"""What a bomb of zeros holds."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A body, and what it is called."""

    name: str
    body: bytes
    type: str = JSON
    encoding: str = ""


async def rows(stage: Stage) -> AsyncIterator[Row]:
    bombs = list(_bombs())
    await _send(stage.api, bombs[0])
    peaks: list[float] = []
    for bomb in bombs:
        yield await _bomb(stage, bomb, peaks)
    if peaks:
        yield Row("the worst of these bombs", "more memory at its peak", max(peaks), "MB", Target(40))
    count = stage.size(5_000, 200)
    before = memory_mb(stage.server_pid) if stage.server_pid else None
    waits, refused = [], 0
    for bad in _mangled(count):
        took, status = await _send(stage.api, bad)
        waits.append(took)
        refused += status >= 400
    yield latency(f"{count:,} mangled reports", "answer", waits, note=f"{refused:,} refused, the others taken")
    if before is not None and stage.server_pid:
        yield Row(f"{count:,} mangled reports", "more memory than before", memory_mb(stage.server_pid) - before, "MB")


async def _bomb(stage: Stage, bomb: Bad, peaks: list[float]) -> Row:
    """How long it took; what memory it needed meanwhile is added to ``peaks``."""
    before = _forget_peak(stage.server_pid)
    took, status = await _send(stage.api, bomb)
    if status < 400:
        raise Broken(f"{bomb.name} was taken: {status}")
    note = f"{len(bomb.body) / 1000:,.0f} KB sent, answered {status}"
    if stage.server_pid:
        peaks.append(memory_mb(stage.server_pid, "VmHWM") - before)
        note += f", {peaks[-1]:.0f} MB more at its peak"
    return Row("a bomb", bomb.name, took * 1000, "ms", Target(1000), note=note)


def _forget_peak(pid: int | None) -> float:
    """Begin to measure the peak anew; what is used now."""
    if not pid:
        return 0.0
    for one in family(pid):
        with suppress(OSError):
            Path(f"/proc/{one}/clear_refs").write_text("5")
    return memory_mb(pid)


async def _send(api: Api, bad: Bad) -> tuple[float, int]:
    """(seconds, status). Raises Broken for an answer that no sender should see."""
    headers = {"Content-Type": bad.type} | ({"Content-Encoding": bad.encoding} if bad.encoding else {})
    began = time.monotonic()
    async with api.http.post(f"{api.base}/v1/traces", data=bad.body, headers=headers) as response:
        await response.read()
        if response.status >= 500:
            raise Broken(f"{bad.name}: {response.status}")
        return time.monotonic() - began, response.status


# ------------------------------------------------------------------------------------------ bombs


def _bombs() -> Iterator[Bad]:
    yield Bad("1 GiB of zeros, gzip", _zeros(zlib.compressobj(9, wbits=31)), encoding="gzip")
    yield Bad("1 GiB of zeros, deflate", _zeros(zlib.compressobj(9)), encoding="deflate")
    yield Bad("1 GiB of zeros, zstd", _zeros(zstandard.ZstdCompressor().compressobj()), encoding="zstd")
    yield Bad("gzip inside of gzip", gzip.compress(_zeros(zlib.compressobj(9, wbits=31))), encoding="gzip")
    yield Bad("19 MiB of empty spans", b"\x0a\x00" * (19 * MIB // 2), PROTOBUF)
    yield Bad("19 MiB of empty objects", b'{"resourceSpans": [' + b"{}," * (19 * MIB // 3) + b"{}]}")
    yield Bad("19 MiB of numbers", b'{"resourceSpans": [{"x": [' + b"1," * (19 * MIB // 2) + b"1]}]}")
    yield Bad("19 MiB of lists in lists", b"[" * (19 * MIB))
    yield Bad("messages in messages", _nested(4_000), PROTOBUF)
    yield Bad("one number of a million digits", b'{"resourceSpans": ' + b"9" * 1_000_000 + b"}")


def _zeros(packer: zlib._Compress | zstandard.ZstdCompressionObj) -> bytes:
    piece = bytes(MIB)
    return b"".join(packer.compress(piece) for _ in range(UNPACKED // MIB)) + packer.flush()


def _nested(depth: int) -> bytes:
    """An attribute whose value is a list of a list of a list…"""
    value = b""
    for _ in range(depth):
        inner = _field(1, value)
        value = _field(5, inner)
    attribute = _field(1, b"deep") + _field(2, value)
    return _field(1, _field(2, _field(2, _field(9, attribute))))


def _field(number: int, content: bytes) -> bytes:
    """A field of protobuf that holds bytes."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


# ------------------------------------------------------------------------------------------ mangled


def _mangled(count: int) -> Iterator[Bad]:
    """Good reports with something wrong in the middle: the same ones in every run."""
    chance = random.Random(1)
    for number in range(count):
        whole = report(f"bad{number}", number, 1)
        mangle = chance.choice(MANGLES)
        yield Bad(f"mangled report {number}", mangle(chance, whole), PROTOBUF)


def _cut(chance: random.Random, body: bytes) -> bytes:
    return body[: chance.randrange(len(body))]


def _flip(chance: random.Random, body: bytes) -> bytes:
    found = bytearray(body)
    for _ in range(chance.randrange(1, 20)):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def _repeat(chance: random.Random, body: bytes) -> bytes:
    begin = chance.randrange(len(body))
    return body[:begin] + body[begin : begin + chance.randrange(1, 200)] * chance.randrange(2, 50) + body[begin:]


def _drop(chance: random.Random, body: bytes) -> bytes:
    begin = chance.randrange(len(body))
    return body[:begin] + body[begin + chance.randrange(1, 40) :]


MANGLES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_cut, _flip, _repeat, _drop)
