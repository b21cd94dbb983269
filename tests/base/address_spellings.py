"""Addresses that may not be asked, and some that may, in all the ways they have been written to get past
a check; names that lead to them; and a name server that answers as it pleases.
"""

from __future__ import annotations

import ipaddress
import random
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

PRIVATE = (
    *("127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"),
    *("169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "0.0.0.0", "255.255.255.255"),
    *("224.0.0.1", "240.0.0.1", "198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1"),
)
PRIVATE_6 = (
    *("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "100::1"),
    *("2002:7f00:1::", "2002:a9fe:a9fe::1", "64:ff9b::7f00:1", "64:ff9b:1::a9fe:a9fe", "2001:0:7f00:1::"),
)
PUBLIC = ("93.184.216.34", "8.8.8.8", "172.32.0.1", "192.169.0.1", "11.0.0.1")
PUBLIC_6 = ("2606:4700::1111", "2a00:1450::1")
FORBIDDEN = tuple(
    map(
        ipaddress.ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
            *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),
            *("::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32"),
            *("2002::/16", "3fff::/20", "4000::/2", "8000::/1"),
        ),
    )
)
"""By the registries of special addresses; not by what the product goes by."""

PORTS = ("", "", "", ":80", ":443", ":", ":8080", ":22", ":0", ":65536", ":-1", ":080", ":８０", ":80:80")
PATHS = ("", "/", "/latest/meta-data/", "/mcp", "/sse", "/?x=1", "#x", "?@93.184.216.34/", "/..;/", "/%0d%0aHost:x")
SCHEMES = ("http", "http", "http", "http", "https", "HTTP", "hTtPs", "ftp", "file", "gopher", "dict", "ws", "jar:http")


def is_forbidden(address: str) -> bool:
    """Whether nobody who names a URL may make the server connect there."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    return any(ip in network for network in FORBIDDEN if network.version == ip.version)


class Names:
    """A name server: ``NAME.example`` by what is in its table, one answer after the other; the last for ever.
    Numbers it reads as the system does."""

    def __init__(self) -> None:
        self._answers: dict[str, Sequence[Sequence[str]]] = {}
        self._asked: Counter[str] = Counter()

    def name(self, *answers: Sequence[str]) -> str:
        """A new name with these answers."""
        name = f"n{len(self._answers)}.example"
        self._answers[name] = answers
        return name

    async def getaddrinfo(self, _loop: Any, host: Any, port: Any, **more: Any) -> list[Any]:
        more = {name: value for name, value in more.items() if name in {"type", "proto"}}
        text = host.decode() if isinstance(host, bytes) else str(host)
        try:
            return socket.getaddrinfo(text, port, flags=socket.AI_NUMERICHOST, **more)
        except (socket.gaierror, UnicodeError):
            plain = text.encode("idna").decode().lower().rstrip(".")
        if plain == "localhost":
            return self._found(["127.0.0.1", "::1"], port)
        if plain not in self._answers:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        answers, number = self._answers[plain], self._asked[plain]
        self._asked[plain] += 1
        return self._found(answers[min(number, len(answers) - 1)], port)

    def _found(self, addresses: Sequence[str], port: Any) -> list[Any]:
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (one, port, 0, 0))
            if ":" in one
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in addresses
        ]


def urls(chance: random.Random, names: Names) -> Iterator[str]:
    """URLs without end. Some are good, most lead where nobody may, many are none."""
    while True:
        kind = chance.randrange(10)
        if kind < 5:
            host = chance.choice(list(_spellings(chance, chance.choice((*PRIVATE, *PRIVATE, *PUBLIC)))))
        elif kind < 7:
            host = chance.choice(list(_spellings_6(chance.choice((*PRIVATE_6, *PRIVATE_6, *PUBLIC_6)))))
        else:
            host = _named(chance, names)
        yield from _dressed(chance, host)


def _named(chance: random.Random, names: Names) -> str:
    good, bad = chance.choice((*PUBLIC, *PUBLIC_6)), chance.choice((*PRIVATE, *PRIVATE_6))
    answers: list[list[list[str]]] = [
        [[good]],
        [[bad]],
        [[good, bad]],
        [[bad, good]],
        [[good], [bad]],  # another answer the second time
        [[good], [good], [bad]],
        [[bad], [good]],
    ]
    name = names.name(*chance.choice(answers))
    return chance.choice((name, name, name.upper(), f"{name}.", name.replace(".", "。"), "localhost", "LOCALHOST."))


def _spellings(chance: random.Random, address: str) -> Iterator[str]:
    """Of an IPv4 address, as a host."""
    number = int(ipaddress.IPv4Address(address))
    first, second, third, fourth = map(int, address.split("."))
    yield from (address, address, f"{address}.", str(number), f"{number:#x}", f"{number:#o}".replace("0o", "0"))
    yield f"{first}.{number & 0xFFFFFF}"
    yield f"{first}.{second}.{number & 0xFFFF}"
    yield f"0{first:o}.0{second:o}.0{third:o}.0{fourth:o}"
    yield f"{first:#x}.{second:#x}.{third:#x}.{fourth:#x}"
    yield f"{first:#x}.{second}.0{third:o}.{fourth}"
    yield f"000{first:o}.{second}.{third}.{fourth}"
    yield f"{first + 256}.{second}.{third}.{fourth}"
    yield str(number + 2**32)
    yield address.translate({ord("0") + digit: chr(0xFF10 + digit) for digit in range(10)})
    yield address.translate({ord("0") + digit: chr(0x2460 + digit - 1) for digit in range(1, 10)})
    yield address.replace(".", "。")
    yield address.replace(".", "%2e")
    yield quote(address[:1] + "\u200b" + address[1:])
    yield f"{address}\u00ad"
    yield f"%{ord(address[0]):x}{address[1:]}"
    yield f"{address}\t"
    yield f"{address}%00.example"
    yield f"{address}@93.184.216.34"
    yield f"93.184.216.34@{address}"
    yield f"93.184.216.34\\@{address}"
    yield f"{address}\\@93.184.216.34"
    yield f"93.184.216.34#@{address}"
    yield f"[{address}]"
    yield from _inside_6(address, number)
    yield chance.choice(("", " ", ".", "..", "[", "]", "[]", "%", "@", ":", "0", "0x", "-1", "*", "a" * 300))


def _inside_6(address: str, number: int) -> Iterator[str]:
    high, low = number >> 16, number & 0xFFFF
    yield from (f"[::ffff:{address}]", f"[::ffff:{high:x}:{low:x}]", f"[0:0:0:0:0:ffff:{high:04x}:{low:04x}]")
    yield from (f"[::{address}]", f"[::{high:x}:{low:x}]", f"[64:ff9b::{address}]", f"[64:ff9b:1::{high:x}:{low:x}]")
    yield from (f"[2002:{high:x}:{low:x}::1]", f"[2001:0:{high:x}:{low:x}::1]", f"[::FFFF:0:{high:x}:{low:x}]")
    yield f"[2001:0:5db8:d822:0:0:{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}]"


def _spellings_6(address: str) -> Iterator[str]:
    whole = ipaddress.IPv6Address(address).exploded
    yield from (f"[{address}]", f"[{address.upper()}]", f"[{whole}]", f"[{address}%eth0]", f"[{address}%25lo]")
    yield from (address, f"[{address}].", f"[{address}", f"[[{address}]]", f"{quote(f'[{address}]')}")


def _dressed(chance: random.Random, host: str) -> Iterator[str]:
    if chance.randrange(2):
        yield f"http://{host}{chance.choice(PATHS)}"
        return
    scheme, port, path = chance.choice(SCHEMES), chance.choice(PORTS), chance.choice(PATHS)
    user = chance.choice(("", "", "", "", "", "u@", "u:p@", "@", "http://", "%40", "93.184.216.34@"))
    slashes = chance.choice(("://", "://", "://", "://", "://", ":///", ":", ":/", ":\\\\", "://\\", " ://"))
    yield f"{scheme}{slashes}{user}{host}{port}{path}"
