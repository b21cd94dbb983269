"""Builds a ProviderError for a failure of an endpoint: it names the endpoint and never contains its key.

An endpoint's answer is untrusted text: it may be huge, of any shape, or repeat the key it was sent.
This module does no I/O and decides no retry; an error only says whether a retry may help.
"""

from __future__ import annotations

import email.utils
from collections.abc import Mapping
from datetime import UTC

import aiohttp
import msgspec

from agents.base import ids, redaction
from agents.base.errors import ProviderError
from agents.base.schemas.wire import JSON

QUOTE_CHARS = 500
MAX_RETRY_AFTER_S = 86_400.0


def is_retryable(status: int) -> bool:
    return status in (408, 429) or status >= 500


class EndpointErrors:
    """Builds the errors of one endpoint, ``provider``. ``secret`` is redacted in every message, and so
    are all secrets this server knows."""

    __slots__ = ("_provider", "_secret")

    def __init__(self, provider: str, secret: str = "") -> None:
        self._provider = provider
        self._secret = secret

    def error(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
    ) -> ProviderError:
        """``message`` continues a sentence that begins with the endpoint's name."""
        return ProviderError(
            f"{self._provider} {self._redact(message)}",
            provider=self._provider,
            upstream_status=status,
            retryable=retryable,
            retry_after_s=retry_after_s,
            code=code,
        )

    def timeout(self, message: str, *, retryable: bool = False) -> ProviderError:
        return self.error(message, code="timeout", retryable=retryable)

    def cut(self, why: str) -> ProviderError:
        """Return the error of a stream that ended before its answer. It is retryable: if nothing of the
        answer had arrived, the endpoint may have restarted."""
        return self.error(f"cut its answer: {self.quote(why)}", code="cut", retryable=True)

    def too_large(self, what: str) -> ProviderError:
        return self.error(f"sent too much: {what}", code="output_too_large")

    def unreachable(self, cause: Exception) -> ProviderError:
        """Return the error of a request without any answer. A refused or dropped connection may be a
        restart and is retryable; an unknown host, a bad certificate or a garbled reply is not."""
        text = self.quote(f"{type(cause).__name__}: {cause}")
        if isinstance(cause, TimeoutError):
            return self.timeout(f"could not be reached in time: {text}", retryable=True)
        hopeless = isinstance(cause, aiohttp.ClientConnectorDNSError | aiohttp.ClientSSLError)
        lost = isinstance(cause, aiohttp.ClientConnectionError | OSError)
        return self.error(f"could not be reached: {text}", retryable=lost and not hopeless)

    def refused(self, status: int, headers: Mapping[str, str], body: bytes, *, model: str = "") -> ProviderError:
        """Return the error of an answer with another status than 200. ``headers`` are case-insensitive."""
        report = ReportedError.read(body)
        text = self.quote(report.message) or "without a message"
        if 300 <= status < 400:
            text = "redirects are not followed; check its base URL"
        if request_id := headers.get("x-request-id", "")[:80]:
            text = f"{text} (request {request_id})"
        return self.error(
            f"answered {status}: {text}",
            code=report.error_code(status, model),
            status=status,
            retryable=is_retryable(status) and report.code != "insufficient_quota",
            retry_after_s=_retry_after_s(headers),
        )

    def reported(self, report: ReportedError, *, model: str = "") -> ProviderError:
        """Return the error of an answer that began with status 200 and reports an error later."""
        status = report.status
        return self.error(
            f"broke off: {self.quote(report.message) or 'without a message'}",
            code=report.error_code(status, model),
            status=status,
        )

    def quote(self, text: str) -> str:
        """Return external text for a message: redacted, and at most `QUOTE_CHARS` long."""
        # Redact before cutting: half a key would no longer be recognised.
        text = self._redact(text).strip()
        return text if len(text) <= QUOTE_CHARS else text[:QUOTE_CHARS] + "…"

    def _redact(self, text: str) -> str:
        return redaction.redact_error(text, (self._secret,))


class ReportedError(msgspec.Struct, frozen=True):
    """An endpoint's own report of an error, parsed from the shapes seen in practice."""

    message: str = ""
    code: str = ""
    status: int | None = None

    @classmethod
    def read(cls, body: bytes) -> ReportedError:
        """Parse the body of an answer: JSON of some shape, else plain text."""
        try:
            return cls.of(msgspec.json.decode(body))
        except (ValueError, RecursionError):
            return cls(message=body.decode(errors="replace"))

    @classmethod
    def of(cls, decoded: JSON) -> ReportedError:
        """Parse OpenAI's ``{"error": {"message", "code", "type"}}``, the same without the envelope
        (vLLM), a bare text under ``error`` (Ollama), or ``detail`` (FastAPI)."""
        inner = decoded.get("error", decoded) if isinstance(decoded, dict) else decoded
        if not isinstance(inner, dict):
            return cls(message=_text(inner))
        code, status = inner.get("code"), inner.get("status")
        number = next((value for value in (code, status) if type(value) is int and 400 <= value <= 599), None)
        message = inner.get("message") or inner.get("detail") or inner
        return cls(message=_text(message), code=_text(code), status=number)

    def error_code(self, status: int | None, model: str) -> str | None:
        """Return the code of an error that callers can act on: an unknown model, or a history that is too
        long for it."""
        if self.names_model(status, model):
            return "model_not_found"
        return "context_length_exceeded" if self._names_length(status) else None

    def _names_length(self, status: int | None) -> bool:
        if self.code == "context_length_exceeded":
            return True
        text = self.message.lower()
        return status in (None, 400, 413) and ("context length" in text or "context window" in text)

    def names_model(self, status: int | None, model: str) -> bool:
        """Whether the report says that the model does not exist. A bare 404 means that the URL is wrong."""
        if self.code == "model_not_found":
            return status in (None, 400, 404)
        text = self.message.lower()
        return status == 404 and ("model" in text or (bool(model) and model.lower() in text))


def _text(value: JSON) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """RFC 9110, section 10.2.3: seconds, or a date. OpenAI also sends milliseconds."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if text.isascii() and text.replace(".", "", 1).isdecimal():
            return min(float(text) * unit, MAX_RETRY_AFTER_S)
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", "")).replace(tzinfo=UTC)
    except ValueError:
        return None
    return min(max(date.timestamp() - ids.now_us() / 1_000_000, 0.0), MAX_RETRY_AFTER_S)
