"""A model that needs no network and no key: for the demo, and for every test of the loop.

The model's name picks its pace: ``demo`` takes 15 ms a token, as a fast model does, ``fast`` none.
Both answer in the same way, and the same conversation always gets the same answer: a tool is called
whose name fits the question, its result is told, a greeting returned, all else quoted back. Where a
JSON schema is asked for, the answer is a minimal instance of it.

A user message whose first word is ``!script`` says what to do instead, one thing a line::

    !script
    think The user wants to know the weather.
    call get_weather {"city": "Paris"}
    call get_time {"zone": "Europe/Paris"}
    then
    say It is sunny in Paris,
    say and past noon.

======================  ==============================================================================
``say TEXT``            say the rest of the line as it is; a further ``say`` begins a new line
``repeat N TEXT``       say TEXT N times, with a space between
``think TEXT``          think it (reasoning)
``call TOOL JSON``      call a tool, offered or not, with these arguments, JSON or not (default ``{}``);
                        several calls in one round are parallel
``wait 20ms``           pause; also ``1.5s``
``then``                ends a round: what follows is for the inference after the tools' results
``length``              finish here with the reason ``length``
``finish REASON``       finish here with this reason
``fail STATUS TEXT``    fail as an endpoint that answers with this HTTP status; also ``fail TEXT``
``cut``                 break off without finishing, as a lost connection does
``end``                 what follows is no script any more
``# …`` or nothing      skipped
======================  ==============================================================================

The first thing may stand on the line of ``!script``. A line that begins otherwise fails the
inference with its number. The round is the number of times tools were called since that message;
after the last one the results are told as usual.

``tool_choice`` is heeded, also by scripts: ``none`` drops calls, ``required`` and a tool's name add
one to a round that has none. Of the sampling only ``max_tokens`` and ``stop`` have an
effect. Usage counts words, long ones in pieces.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import assert_never

from agents.base.errors import InvalidRequest, ProviderError
from agents.loop.inference.base import Chunk, InferenceRequest, Model
from agents.loop.inference.chat.endpoint_errors import Faults, is_worth_repeating
from agents.loop.inference.script import language, replies
from agents.loop.inference.script.actions import Act, Call, CannotAct, Cut, End, Ending, Fail, Repeat, Say, Think, Wait
from agents.loop.inference.script.conversation import Conversation
from agents.loop.inference.script.output import Performance, TooMuch
from agents.record.schemas.content import GrammarFormat, JsonSchemaFormat, ToolDef

TOKEN_S = 0.015
_MODELS = {"demo": "A scripted model at the pace of a real one", "fast": "The same without pace"}

# Without pace nothing is waited for; now and then the others on the loop get their turn.
_TOKENS_BETWEEN_BREATHS = 64


class Scripted:
    """The scripted endpoint, configured as ``name``. ``sleep`` waits, in seconds; ``token_s`` is the
    pace of ``demo``."""

    def __init__(
        self,
        name: str = "scripted",
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        token_s: float = TOKEN_S,
    ) -> None:
        self.name = name
        self._sleep = sleep
        self._token_s = token_s
        self._faults = Faults(name)

    async def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        """Run one inference. Raises ProviderError, and InvalidRequest for a grammar."""
        token_s = self._pace_of(request.model)
        talk, acts = self._planned(request)
        performance = Performance(request, prompt_words=talk.words)
        for act in acts:
            match act:
                case Wait(seconds=seconds):
                    await self._sleep(seconds)
                case Fail() | Cut():
                    raise self._failure(act)
                case End(reason=reason):
                    for chunk in performance.end(reason):
                        yield chunk
                    return
                case Say() | Repeat() | Think() | Call():
                    async for chunk in self._told(performance, act, token_s):
                        yield chunk
                case _:
                    assert_never(act)
            if performance.is_over:
                break
        for chunk in performance.end():
            yield chunk

    async def _told(
        self, performance: Performance, act: Say | Repeat | Think | Call, token_s: float
    ) -> AsyncIterator[Chunk]:
        """An act's tokens, each in its time. Raises ProviderError for what no endpoint may answer."""
        try:
            for chunk in performance.tokens(act):
                await self._breathe(token_s, performance.produced)
                yield chunk
        except TooMuch as error:
            raise self._faults.too_large(str(error)) from None

    async def models(self) -> list[Model]:
        return [
            Model(f"{self.name}/{model}", self.name, model, metadata={"description": description})
            for model, description in _MODELS.items()
        ]

    async def close(self) -> None:
        """Nothing is held open."""

    def _pace_of(self, model: str) -> float:
        known = model.removeprefix(f"{self.name}/")
        if known not in _MODELS:
            offered = " and ".join(_MODELS)
            message = f"has no model {self._faults.quote(model)!r}; it offers {offered}"
            raise self._faults.error(message, code="model_not_found", status=404)
        return self._token_s if known == "demo" else 0.0

    def _planned(self, request: InferenceRequest) -> tuple[Conversation, list[Act]]:
        if isinstance(request.response_format, GrammarFormat):
            raise InvalidRequest("response_format 'grammar' is not known to scripted models", param="response_format")
        try:
            talk = Conversation(request.messages)
            return talk, _acts(request, talk)
        except CannotAct as error:
            raise self._faults.error(f"answered 400: {self._faults.quote(str(error))}", status=400) from None

    def _failure(self, act: Fail | Cut) -> ProviderError:
        if isinstance(act, Cut):
            return self._faults.cut("the script says so")
        message = self._faults.quote(act.message)
        if act.status is None:
            return self._faults.error(f"failed: {message}")
        return self._faults.error(
            f"answered {act.status}: {message}",
            code="model_not_found" if act.status == 404 else None,
            status=act.status,
            retryable=is_worth_repeating(act.status),
        )

    async def _breathe(self, token_s: float, produced: int) -> None:
        if token_s:
            await self._sleep(token_s)
        elif produced % _TOKENS_BETWEEN_BREATHS == 0:
            await asyncio.sleep(0)


def _acts(request: InferenceRequest, talk: Conversation) -> list[Act]:
    """What to do in this round: the script's part, else an own reply. Raises CannotAct."""
    forced = _forced_tool(request, talk.question)
    acts = _scripted_acts(talk)
    if acts is None:
        return _own_acts(request, talk, forced)
    if request.tool_choice == "none":
        return [act for act in acts if not isinstance(act, Call)]
    if forced and not any(isinstance(act, Call | Ending) for act in acts):
        return [*(act for act in acts if isinstance(act, Think | Wait)), replies.call(forced, talk.question)]
    return acts


def _scripted_acts(talk: Conversation) -> list[Act] | None:
    if not language.is_script(talk.question):
        return None
    rounds = language.parse(talk.question)
    return rounds[talk.rounds] if talk.rounds < len(rounds) else None


def _own_acts(request: InferenceRequest, talk: Conversation, forced: ToolDef | None) -> list[Act]:
    if forced:
        return [replies.call(forced, talk.question)]
    acts = replies.reply(talk, () if request.tool_choice == "none" else request.tools)
    if isinstance(request.response_format, JsonSchemaFormat) and not any(isinstance(act, Call) for act in acts):
        return [replies.instance(request.response_format.json_schema)]
    return acts


def _forced_tool(request: InferenceRequest, question: str) -> ToolDef | None:
    """The tool that must be called now, if one must. Raises CannotAct for one never offered."""
    choice, tools = request.tool_choice, request.tools
    if choice in ("auto", "none") or not tools:
        return None
    if choice == "required":
        return replies.fitting(question, tools) or tools[0]
    for tool in tools:
        if tool.name == choice:
            return tool
    raise CannotAct(f"tool_choice names {choice!r}, a tool that was not offered")
