"""A memory of four passages, found by the words they share with a question."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from agents.loop.protocols.retrieval import RetrievedContext

GROUP = "builtin::demo_policies"
PASSAGES = (
    "Refunds are paid within 5 working days after the goods arrive. Amounts above 100 EUR need a colleague's approval.",
    "Orders can be changed until they are shipped. After that, refuse the parcel and order again.",
    "The shop in Lyon is closed on Sundays. The shop in Berlin is open from 12 to 18.",
    "Delivery inside the country takes two to four days; to islands up to eight.",
)


@dataclass(frozen=True)
class PolicyMemory:
    """The shop's policies."""

    takes_s: float = 0.0

    async def retrieve(self, query: str) -> RetrievedContext:
        if self.takes_s:
            await asyncio.sleep(self.takes_s)
        words = _words(query)
        scored = sorted(((len(words & _words(text)) / (len(words) or 1), text) for text in PASSAGES), reverse=True)
        best = [(score, text) for score, text in scored[:2] if score > 0]
        chunks = [
            {"document_id": f"policy-{PASSAGES.index(text) + 1}", "score": round(score, 2), "content": text}
            for score, text in best
        ]
        return RetrievedContext(context="\n".join(text for _, text in best), vector_db_ids="policies", chunks=chunks)


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3}
