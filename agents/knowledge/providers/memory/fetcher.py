"""The one fetcher for what somebody names by a URL: documents, and images.

http and https only; every address is checked and pinned (`agents.base.addresses`), redirects too;
sizes, time and content types are bounded; nothing of this server goes along: no cookies, no keys, no
proxy of the environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urljoin

import aiohttp

from agents.base import addresses
from agents.base.errors import InvalidRequest
from agents.knowledge.providers.memory import texts
from agents.knowledge.providers.memory.texts import Raw

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TYPES_BY_EXTENSION = {
    "pdf": texts.PDF,
    "html": "text/html",
    "htm": "text/html",
    "md": "text/markdown",
    "csv": "text/csv",
    "json": "application/json",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "txt": "text/plain",
}


@dataclass(frozen=True, slots=True)
class Fetcher:
    """``allow_private`` lets it reach this machine and its network: for those who run it at home."""

    allow_private: bool = False
    max_bytes: int = 10 * 1024 * 1024
    total_s: float = 15.0
    max_redirects: int = 5
    ports: frozenset[int] = frozenset({80, 443})

    async def fetch(self, url: str, where: str, accepts: Callable[[str], bool] = texts.is_readable) -> Raw:
        """What is at a URL, if its type is ``wanted``. Raises InvalidRequest with the code
        ``document_unavailable``, naming ``where``."""
        try:
            async with asyncio.timeout(self.total_s):
                return await self._follow(url, accepts)
        except TimeoutError:
            raise _unavailable(where, url, f"it took longer than {self.total_s:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _unavailable(where, url, f"{type(error).__name__}: {str(error)[:200]}") from None
        except InvalidRequest as error:
            raise _unavailable(where, url, error.message) from None

    async def _follow(self, url: str, accepts: Callable[[str], bool]) -> Raw:
        for _ in range(self.max_redirects + 1):
            result = await self._ask(url, accepts)
            if isinstance(result, Raw):
                return result
            url = urljoin(url, result)
        raise InvalidRequest(f"it is redirected more than {self.max_redirects} times.")

    async def _ask(self, url: str, accepts: Callable[[str], bool]) -> Raw | str:
        """The document, or where it is said to be."""
        target = await addresses.resolve(url, allow_private=self.allow_private)
        if target.port not in self.ports and not self.allow_private:
            raise InvalidRequest(f"port {target.port} may not be asked.")
        connector = aiohttp.TCPConnector(resolver=addresses.PinnedResolver(target), use_dns_cache=False, limit=1)
        async with (
            aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, auto_decompress=False
            ) as session,
            session.get(url, allow_redirects=False, headers=_HEADERS) as response,
        ):
            if response.status in REDIRECTS and "Location" in response.headers:
                return response.headers["Location"]
            return await self._take(response, accepts)

    async def _take(self, response: aiohttp.ClientResponse, accepts: Callable[[str], bool]) -> Raw:
        if response.status != 200:
            raise InvalidRequest(f"it was answered with status {response.status}.")
        main, charset = texts.kind(response.headers.get("Content-Type", ""))
        if main in {"", "application/octet-stream", "binary/octet-stream"}:
            main = _TYPES_BY_EXTENSION.get(response.url.name.rpartition(".")[2].lower(), main or "text/plain")
        if not accepts(main):
            raise InvalidRequest(f"its type '{main[:80]}' is not one that is read here.")
        if response.headers.get("Content-Encoding", "identity") not in {"", "identity"}:
            raise InvalidRequest("it came compressed, which was not asked for.")
        if (response.content_length or 0) > self.max_bytes:
            raise self._too_large()
        body = bytearray()
        async for data in response.content.iter_any():
            body += data
            if len(body) > self.max_bytes:
                raise self._too_large()
        return Raw(bytes(body), main, charset)

    def _too_large(self) -> InvalidRequest:
        return InvalidRequest(f"it is larger than {self.max_bytes // 2**20} MiB.")


_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "turnlog-fetcher/1"}


def _unavailable(where: str, url: str, reason: str) -> InvalidRequest:
    message = f"{where}: the document at {url[:200]} cannot be had: {reason}"
    return InvalidRequest(message, param="documents", code="document_unavailable")
