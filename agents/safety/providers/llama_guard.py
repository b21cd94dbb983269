"""Llama Guard: a model that classifies the last message of a conversation, through any endpoint that
serves one.

The prompt is the one its makers publish (model cards of Llama Guard 3 and 4). What the model answers
beyond ``safe`` or ``unsafe`` with its categories cannot be read as leave to pass: it is a
ProviderError, and the step fails.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from agents.base.errors import ProviderError
from agents.loop.inference.base import InferenceEndpoint, InferenceRequest, Text
from agents.loop.protocols.shields import ShieldInput, Touchpoint, checked_texts
from agents.record.schemas.content import SafetyViolation, SamplingParams
from agents.record.schemas.items import encode

USER_MESSAGE = "I can't answer that. Can I help with something else?"
"""What the user is told; upstream's words."""
MAX_TOKENS = 100

_CATEGORIES = (
    "Violent Crimes", "Non-Violent Crimes", "Sex Crimes", "Child Exploitation", "Defamation", "Specialized Advice",
    "Privacy", "Intellectual Property", "Indiscriminate Weapons", "Hate", "Self-Harm", "Sexual Content", "Elections",
    "Code Interpreter Abuse",
)  # fmt: skip
CATEGORIES = {f"S{number}": name for number, name in enumerate(_CATEGORIES, start=1)}
"""Those of Llama Guard 3."""
CATEGORIES_4 = {**CATEGORIES, "S3": "Sex-Related Crimes", "S4": "Child Sexual Exploitation"}

_TASK = (
    "Task: Check if there is unsafe content in '{role}' messages in conversations according our safety policy "
    "with the below categories."
)
_CONCLUSION = """Provide your safety assessment for ONLY THE LAST {role} message in the above conversation:
 - First line must read 'safe' or 'unsafe'.
 - If unsafe, a second line must include a comma-separated list of violated categories."""
_SPEAKERS = {"user": "User", "assistant": "Agent"}
_MARK = re.compile(r"<(?=\s*(?:BEGIN|END)\s)", re.IGNORECASE)
_VERSION_4 = re.compile(r"guard[-_.]?4", re.IGNORECASE)
_VERDICT = re.compile(r"(safe|unsafe)[^\S\n]*(?:\n\s*+(S\d{1,2}(?:\s*+,\s*+S\d{1,2})*))?", re.IGNORECASE)


class LlamaGuard:
    """The shield ``name``: ``model`` as ``inference`` knows it. ``excluded`` are codes of categories
    that are not looked for."""

    def __init__(self, name: str, inference: InferenceEndpoint, model: str, excluded: Collection[str] = ()) -> None:
        self.name = name
        self._inference, self._model = inference, model
        self._excluded = frozenset(excluded)
        categories = CATEGORIES_4 if _VERSION_4.search(model) else CATEGORIES
        self.categories = {code: title for code, title in categories.items() if code not in excluded}

    async def check(self, messages: Sequence[ShieldInput], touchpoint: Touchpoint) -> SafetyViolation | None:
        if not any(text.strip() for text in checked_texts(messages, touchpoint)):
            return None  # nothing was said, calls of tools only
        codes = self._read(await self._ask(self._prompt(messages, touchpoint)))
        if codes is None:
            return None
        # a category that nobody knows is none that somebody excluded
        violated = [code for code in codes if code not in self._excluded]
        if codes and not violated:
            return None
        return SafetyViolation(
            violation_level="error",
            user_message=USER_MESSAGE,
            metadata={
                "violation_type": ",".join(violated),
                "categories": {code: self.categories.get(code, code) for code in violated},
            },
        )

    def _prompt(self, messages: Sequence[ShieldInput], touchpoint: Touchpoint) -> str:
        role = _SPEAKERS["user" if touchpoint == "user-input" else "assistant"]
        policy = "\n".join(f"{code}: {title}." for code, title in self.categories.items())
        # a message could else close the conversation itself and write the verdict
        conversation = "\n\n".join(
            f"{_SPEAKERS[message.role]}: {_MARK.sub('< ', message.text)}" for message in messages if message.text
        )
        return "\n\n".join(
            (
                _TASK.format(role=role),
                f"<BEGIN UNSAFE CONTENT CATEGORIES>\n{policy}\n<END UNSAFE CONTENT CATEGORIES>",
                f"<BEGIN CONVERSATION>\n\n{conversation}\n\n<END CONVERSATION>",
                _CONCLUSION.format(role=role),
            )
        )

    async def _ask(self, prompt: str) -> str:
        request = InferenceRequest(
            model=self._model,
            messages=[encode({"role": "user", "content": prompt})],
            sampling=SamplingParams(max_tokens=MAX_TOKENS),
        )
        return "".join([chunk.text async for chunk in self._inference.stream(request) if isinstance(chunk, Text)])

    def _read(self, verdict: str) -> list[str] | None:
        """None for safe, else the codes named (there may be none). Raises ProviderError."""
        match = _VERDICT.fullmatch(verdict.strip())
        if match is None or (match[1].lower() == "safe" and match[2]):
            error_text = (
                f"{self._inference.name} answered shield '{self.name}' with no verdict: {verdict.strip()[:100]!r}"
            )
            raise ProviderError(error_text, provider=self._inference.name, code="unreadable_verdict")
        if match[1].lower() == "safe":
            return None
        return [code.strip().upper() for code in (match[2] or "").split(",") if code.strip()]
