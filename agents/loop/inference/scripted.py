"""A model that needs no network and no key: for the demo, and for every test of the loop.

The model's name picks its pace: ``demo`` takes 15 ms a token, as a fast model does, ``fast`` none.
Both answer in the same way, and the same conversation always gets the same answer: a tool whose name
matches the question is called, its result reported, a greeting returned, all else quoted. With a JSON
schema as response format, the answer is a minimal instance of it.

A user message whose first word is ``!script`` has commands instead, one a line::

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

The first command may stand on the line of ``!script``. A line with an unknown command fails the
inference; the error has its number. The round is the number of times tools were called since that
message; after the last one the results are reported as without a script. Asked to sum up a conversation, the model
repeats its question and counts the rounds, so that a script goes on where it was.

``tool_choice`` is heeded, also by scripts: ``none`` drops calls, ``required`` and a tool's name add
one to a round that has none. Of the sampling only ``max_tokens`` and ``stop`` have an
effect. Usage counts words, long ones in parts. Where ``logprobs`` are asked for, each token has one of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import assert_never

from agents.base.errors import InvalidRequest, ProviderError
from agents.loop.inference.base import Chunk, InferenceRequest, Model
from agents.loop.inference.chat.endpoint_errors import EndpointErrors, is_retryable
from agents.loop.inference.script import known, language, replies
from agents.loop.inference.script.actions import (
    CallTool,
    Cut,
    End,
    Fail,
    FinalAction,
    ImpossibleAction,
    Repeat,
    Say,
    ScriptAction,
    Think,
    Wait,
)
from agents.loop.inference.script.conversation import ChatHistory
from agents.loop.inference.script.output import OutputTooLarge, ScriptedOutput
from agents.record.schemas.content import GrammarFormat, JsonSchemaFormat, ToolDef

TOKEN_S = 0.015
_MODELS = {"demo": "A scripted model at the pace of a real one", "fast": "The same without pace"}

# Without a pace there is no wait; every so often other tasks of the event loop get to run.
_TOKENS_BETWEEN_YIELDS = 64


class ScriptedEndpoint:
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
        self._faults = EndpointErrors(name)

    async def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        """Run one inference. Raises ProviderError, and InvalidRequest for a grammar."""
        token_s = self._pace_of(request.model)
        chat, actions = self._plan(request)
        output = ScriptedOutput(request, prompt_tokens=chat.word_count)
        for action in actions:
            match action:
                case Wait(seconds=seconds):
                    await self._sleep(seconds)
                case Fail() | Cut():
                    raise self._failure(action)
                case End(reason=reason):
                    for chunk in output.end(reason):
                        yield chunk
                    return
                case Say() | Repeat() | Think() | CallTool():
                    async for chunk in self._paced_chunks(output, action, token_s):
                        yield chunk
                case _:
                    assert_never(action)
            if output.is_over:
                break
        for chunk in output.end():
            yield chunk

    async def _paced_chunks(
        self, output: ScriptedOutput, action: Say | Repeat | Think | CallTool, token_s: float
    ) -> AsyncIterator[Chunk]:
        """Yield the tokens of an action at the model's pace. Raises ProviderError for too long an answer."""
        try:
            for chunk in output.tokens(action):
                await self._pace(token_s, output.token_count)
                yield chunk
        except OutputTooLarge as error:
            raise self._faults.too_large(str(error)) from None

    async def count_tokens(self, request: InferenceRequest) -> int | None:
        return ChatHistory(request.messages).word_count

    async def models(self) -> list[Model]:
        return [
            Model(f"{self.name}/{model}", self.name, model, metadata={"description": description})
            for model, description in _MODELS.items()
        ]

    async def close(self) -> None:
        """Nothing is held open."""

    def _pace_of(self, model: str) -> float:
        known_model = model.removeprefix(f"{self.name}/")
        if known_model not in _MODELS:
            offered = " and ".join(_MODELS)
            message = f"has no model {self._faults.quote(model)!r}; it offers {offered}"
            raise self._faults.error(message, code="model_not_found", status=404)
        return self._token_s if known_model == "demo" else 0.0

    def _plan(self, request: InferenceRequest) -> tuple[ChatHistory, list[ScriptAction]]:
        if isinstance(request.response_format, GrammarFormat):
            raise InvalidRequest("response_format 'grammar' is not known to scripted models", param="response_format")
        try:
            chat = ChatHistory(request.messages)
            return chat, _actions(request, chat)
        except ImpossibleAction as error:
            raise self._faults.error(f"answered 400: {self._faults.quote(str(error))}", status=400) from None

    def _failure(self, action: Fail | Cut) -> ProviderError:
        if isinstance(action, Cut):
            return self._faults.cut("the script says so")
        message = self._faults.quote(action.message)
        if action.status is None:
            return self._faults.error(f"failed: {message}")
        return self._faults.error(
            f"answered {action.status}: {message}",
            code="model_not_found" if action.status == 404 else None,
            status=action.status,
            retryable=is_retryable(action.status),
        )

    async def _pace(self, token_s: float, token_count: int) -> None:
        if token_s:
            await self._sleep(token_s)
        elif token_count % _TOKENS_BETWEEN_YIELDS == 0:
            await asyncio.sleep(0)


def _actions(request: InferenceRequest, chat: ChatHistory) -> list[ScriptAction]:
    """Return the actions of this round: the script's, else a reply. Raises ImpossibleAction."""
    if chat.is_to_be_summed_up:
        return [Say(chat.summary)]
    forced = _forced_tool(request, chat.question)
    actions = _script_actions(request, chat)
    if actions is None:
        return _reply_actions(request, chat, forced)
    if request.tool_choice == "none":
        return [action for action in actions if not isinstance(action, CallTool)]
    if forced and not any(isinstance(action, CallTool | FinalAction) for action in actions):
        return [
            *(action for action in actions if isinstance(action, Think | Wait)),
            replies.tool_call(forced, chat.question),
        ]
    return actions


def _script_actions(request: InferenceRequest, chat: ChatHistory) -> list[ScriptAction] | None:
    if language.is_script(chat.question):
        rounds: list[list[ScriptAction]] | None = language.parse(chat.question)
    else:
        rounds = known.rounds(chat.question, [tool.name for tool in request.tools])
    return rounds[chat.round] if rounds and chat.round < len(rounds) else None


def _reply_actions(request: InferenceRequest, chat: ChatHistory, forced: ToolDef | None) -> list[ScriptAction]:
    if forced:
        return [replies.tool_call(forced, chat.question)]
    actions = replies.reply(chat, () if request.tool_choice == "none" else request.tools)
    if isinstance(request.response_format, JsonSchemaFormat) and not any(
        isinstance(action, CallTool) for action in actions
    ):
        return [replies.schema_answer(request.response_format.json_schema)]
    return actions


def _forced_tool(request: InferenceRequest, question: str) -> ToolDef | None:
    """Return the tool that must be called now, if any. Raises ImpossibleAction for one not offered."""
    choice, tools = request.tool_choice, request.tools
    if choice in ("auto", "none") or not tools:
        return None
    if choice == "required":
        return replies.matching_tool(question, tools) or tools[0]
    for tool in tools:
        if tool.name == choice:
            return tool
    raise ImpossibleAction(f"tool_choice names {choice!r}, a tool that was not offered")
