"""One attempt: a POST to a checked address (`agents.base.addresses`), of which the beginning of the answer is kept.

Redirects are not followed: only what answers 2xx itself has taken the event.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import aiohttp
from django.conf import settings

from agents.base import addresses, ids, redaction
from agents.base.addresses import ResolvedUrl
from agents.base.errors import InvalidRequest
from agents.base.reading import read
from agents.webhooks.store import deliveries, endpoints
from agents.webhooks.store.deliveries import MAX_ANSWER, MAX_ERROR, Attempt, Outcome
from agents.webhooks.wire import signature
from agents.webhooks.wire.payload import payload

TIMEOUT_S = 15.0
"""How long one attempt may take, all in all."""
ANSWER_S = 3.0
"""How long the beginning of a body is waited for, once there is a status."""
MAX_ANSWER_BYTES = 4 * MAX_ANSWER
_HEADERS = {"Content-Type": "application/json", "User-Agent": "turnlog-webhooks/1", "Accept-Encoding": "identity"}
CANNOT_SIGN = "Its signing secret can no longer be read: rotate it."


async def check_url(url: str) -> None:
    """Check that events may be sent to a URL. Raises InvalidRequest naming ``url``."""
    try:
        await addresses.resolve(url, allow_private=settings.FETCH_ALLOW_PRIVATE)
    except InvalidRequest as error:
        raise InvalidRequest(f"url: {error.message}", param="url", code=error.code) from None


async def attempt_delivery(attempt: Attempt) -> Outcome:
    """Send a claimed delivery, and store what became of it. Raises what the store raises."""
    outcome = await _send(attempt)
    await read(deliveries.store, attempt, outcome, ids.now_us())
    return outcome


async def _send(attempt: Attempt) -> Outcome:
    now = ids.now_us()
    secrets = endpoints.secrets_of(attempt.endpoint, attempt.secrets, attempt.old_secret_until, now)
    if not secrets:
        return Outcome(error=CANNOT_SIGN)
    body = payload(attempt.event, attempt.kind, attempt.created_at, attempt.data)
    headers = _HEADERS | signature.headers(attempt.webhook_id, now // 1_000_000, body, secrets)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(TIMEOUT_S):
            target = await addresses.resolve(attempt.url, allow_private=settings.FETCH_ALLOW_PRIVATE)
            outcome = await _post(target, headers, body)
    except TimeoutError:
        return Outcome(error=f"It took longer than {TIMEOUT_S:g} s.", duration_us=_since(began))
    except InvalidRequest as error:
        return Outcome(error=error.message[:MAX_ERROR], duration_us=_since(began))
    except (aiohttp.ClientError, OSError, ValueError) as error:
        words = redaction.redact_error(f"{type(error).__name__}: {error}")
        return Outcome(error=words[:MAX_ERROR], duration_us=_since(began))
    return outcome


async def _post(target: ResolvedUrl, headers: dict[str, str], body: bytes) -> Outcome:
    began = time.perf_counter()
    connector = aiohttp.TCPConnector(resolver=addresses.PinnedResolver(target), use_dns_cache=False, limit=1)
    async with (
        aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, auto_decompress=False
        ) as session,
        session.post(target.url, data=body, headers=headers, allow_redirects=False) as response,
    ):
        answered = await _beginning(response)
        text = redaction.redact_error(answered.decode(errors="replace"))[:MAX_ANSWER]
        asked_s = _seconds(response.headers.get("Retry-After", ""))
        return Outcome(response.status, text, duration_us=_since(began), asked_s=asked_s)


async def _beginning(response: aiohttp.ClientResponse) -> bytes:
    """Read the first bytes of a body, and no more of it however long it is. The status says whether the event has been
    taken: a body that breaks off, or does not end, changes nothing about that."""
    answered = bytearray()
    with suppress(TimeoutError, aiohttp.ClientError):  # what has arrived is enough
        async with asyncio.timeout(ANSWER_S):
            async for data in response.content.iter_any():
                answered += data[:MAX_ANSWER_BYTES]
                if len(answered) >= MAX_ANSWER_BYTES:
                    break
    return bytes(answered[:MAX_ANSWER_BYTES])


def _seconds(retry_after: str) -> int:
    """Return the seconds of a ``Retry-After``; 0 for a date, or none."""
    return int(retry_after) if retry_after.isascii() and retry_after.isdecimal() and len(retry_after) < 10 else 0


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1_000_000)
