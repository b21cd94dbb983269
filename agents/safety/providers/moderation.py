"""A shield that asks an OpenAI-compatible ``/moderations``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from agents.base.errors import ProviderError
from agents.base.schemas.wire import JSON
from agents.loop.inference.base import RelayEndpoint
from agents.loop.protocols.shields import ShieldInput, Touchpoint, checked_texts
from agents.record.schemas.content import SafetyViolation

USER_MESSAGE = "I can't answer that. Can I help with something else?"


class _Result(msgspec.Struct):
    flagged: bool
    categories: dict[str, JSON] = {}
    category_scores: dict[str, JSON] = {}


class _Answer(msgspec.Struct):
    results: list[_Result]


class ModerationShield:
    """The shield ``name``: ``model`` as ``endpoint`` knows it ("" for its default). ``excluded`` are
    categories that are not minded."""

    def __init__(self, name: str, endpoint: RelayEndpoint, model: str, excluded: Collection[str] = ()) -> None:
        self.name = name
        self._endpoint, self._model, self._excluded = endpoint, model, frozenset(excluded)

    async def check(self, messages: Sequence[ShieldInput], touchpoint: Touchpoint) -> SafetyViolation | None:
        texts = [text for text in checked_texts(messages, touchpoint) if text.strip()]
        if not texts:
            return None
        results = self._read(await self._ask(texts), len(texts))
        flagged_names = {
            name for result in results for name, is_violated in result.categories.items() if is_violated is True
        }
        is_unnamed = any(result.flagged and True not in result.categories.values() for result in results)
        violated = sorted(flagged_names - self._excluded)
        if not any(result.flagged for result in results) or not (violated or is_unnamed):
            return None
        scores = {name: _highest(results, name) for name in violated}
        return SafetyViolation(
            violation_level="error",
            user_message=USER_MESSAGE,
            metadata={"violation_type": ",".join(violated), "category_scores": scores},
        )

    async def _ask(self, texts: Sequence[str]) -> bytes:
        body: dict[str, JSON] = {"input": list(texts)}
        if self._model:
            body["model"] = self._model
        return await self._endpoint.document("/moderations", msgspec.json.encode(body), model=self._model)

    def _read(self, body: bytes, count: int) -> list[_Result]:
        """One result per text. Raises ProviderError."""
        try:
            results = msgspec.json.decode(body, type=_Answer).results
        except (ValueError, RecursionError):
            results = []
        if len(results) != count:
            message = f"{self._endpoint.name} answered shield '{self.name}' with no verdict on {count} texts"
            raise ProviderError(message, provider=self._endpoint.name, code="unreadable_verdict")
        return results


def _highest(results: Sequence[_Result], name: str) -> float:
    scores = [result.category_scores.get(name) for result in results]
    return max((float(score) for score in scores if isinstance(score, int | float)), default=0.0)
