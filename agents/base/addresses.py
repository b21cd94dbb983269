"""Checks every URL that comes from a caller, against requests to internal addresses (SSRF).

A URL is resolved once, every address is checked, and the connection goes to a checked address: a name
that resolves differently the next time (DNS rebinding) leads nowhere else. Redirects are new URLs, to be
resolved anew.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import SplitResult, urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult

from agents.base.errors import InvalidRequest

RESOLVE_TIMEOUT_S = 5.0
MAX_URL = 2000
_PORTS = {"http": 80, "https": 443}
_ASSIGNED_IPV6 = tuple(map(ipaddress.ip_network, ("::1/128", "2000::/3", "fc00::/7")))
"""All of IPv6 that hosts have addresses in. The rest is not assigned, or embeds an IPv4 address, which a
translator on the way may unwrap."""
_REFUSED_NETWORKS = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20"))
)
"""Networks that Python takes for public and are not: metadata services of two clouds, 6to4 relays, examples."""


@dataclass(frozen=True, slots=True)
class ResolvedUrl:
    """A URL that may be connected to, at one of ``addresses`` (numeric, checked) and nowhere else."""

    url: str
    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]


async def resolve(url: str, *, allow_private: bool) -> ResolvedUrl:
    """Resolve and check a URL. ``allow_private`` lets loopback and private networks pass. Raises
    InvalidRequest, code ``url_refused``, for what is no http(s) URL or leads where it must not."""
    parts = _split(url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    addresses = await _lookup(host, port)
    for address in addresses:
        if not is_allowed(address, allow_private=allow_private):
            raise _refusal(f"the host '{host[:100]}' leads to an address that may not be asked")
    return ResolvedUrl(url, parts.scheme, host, port, tuple(addresses))


def check_syntax(url: str) -> None:
    """Check that a text is an http(s) URL, without a name server: the first part of `resolve`. Raises
    InvalidRequest."""
    _split(url)


def is_allowed(address: str, *, allow_private: bool) -> bool:
    """Tell whether a numeric address may be connected to."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, IPv6Address) and (_embeds_ipv4(ip) or not any(ip in network for network in _ASSIGNED_IPV6)):
        return False
    if ip.is_multicast or ip.is_link_local or ip.is_unspecified or (ip.version == 4 and ip.is_reserved):
        return False  # link-local: where clouds keep their machines' secrets
    if any(ip in network for network in _REFUSED_NETWORKS):
        return False
    return ip.is_global or (allow_private and (ip.is_loopback or ip.is_private or _is_shared(ip)))


def _embeds_ipv4(ip: IPv6Address) -> bool:
    """Tell whether an IPv6 address stands for an IPv4 address."""
    return bool(ip.sixtofour or ip.teredo)


def _is_shared(ip: IPv4Address | IPv6Address) -> bool:
    return ip in ipaddress.ip_network("100.64.0.0/10")  # carriers' and overlays' addresses


def _split(url: str) -> SplitResult:
    if len(url) > MAX_URL:
        raise _refusal(f"it has more than {MAX_URL} characters")
    if "\\" in url or not url.isprintable() or " " in url:
        raise _refusal("it holds characters no URL has")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refusal("it is not a URL") from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise _refusal("it must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None or "%" in parts.netloc:
        raise _refusal("it must not carry credentials")
    return parts


async def _lookup(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        raise _refusal(f"the host '{host[:100]}' cannot be found") from None
    return list(dict.fromkeys(str(entry[4][0]).partition("%")[0] for entry in entries))


def _refusal(why: str) -> InvalidRequest:
    return InvalidRequest(f"This URL is refused: {why}.", code="url_refused")


class PinnedResolver(AbstractResolver):
    """A resolver for aiohttp that gives the addresses of one `ResolvedUrl`, and knows no other host.

    aiohttp does not call it where a URL has a numeric host; `resolve` has checked that number."""

    def __init__(self, resolved: ResolvedUrl) -> None:
        self._resolved = resolved

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host.lower().rstrip(".") != self._resolved.host.rstrip("."):
            raise OSError(f"{host} was not looked at")
        return [self._result(address, port) for address in self._resolved.addresses]

    def _result(self, address: str, port: int) -> ResolveResult:
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        return ResolveResult(
            hostname=self._resolved.host,
            host=address,
            port=port or self._resolved.port,
            family=kind,
            proto=0,
            flags=socket.AI_NUMERICHOST,
        )

    async def close(self) -> None:
        """Release nothing: the resolver holds no resources."""


def check_url(url: str, where: str, *, allow_private: bool) -> None:
    """Raise InvalidRequest for a URL that could never be fetched. ``data:`` URLs pass."""
    if url.startswith("data:"):
        return
    try:
        check_syntax(url)
        _check_number(urlsplit(url).hostname or "", allow_private)
    except InvalidRequest as error:
        raise InvalidRequest(f"{where}: {error.message}", param="documents", code=error.code) from error


def _check_number(host: str, allow_private: bool) -> None:
    """Check a numeric host, and ``localhost``."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return
    if not is_allowed(str(address), allow_private=allow_private):
        raise InvalidRequest("This URL is refused: it leads to an address that may not be asked.", code="url_refused")
