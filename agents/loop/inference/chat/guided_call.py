"""Makes the text of an answer that was held to a grammar the input of the call that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from agents.loop.inference.base import CallPart, Chunk, Finish, Text
from agents.loop.inference.chat.endpoint_errors import EndpointErrors
from agents.loop.inference.chat.stream import ChatStream


class GuidedCallStream(ChatStream):
    """An answer that is a call of the tool ``called``, whose arguments are an object with one text, ``input``."""

    __slots__ = ("_call_id", "_called")

    def __init__(
        self,
        faults: EndpointErrors,
        *,
        called: str,
        model: str,
        output_chars: int,
        new_call_id: Callable[[], str],
    ) -> None:
        super().__init__(faults, model=model, output_chars=output_chars, new_call_id=new_call_id)
        self._called, self._call_id = called, new_call_id()

    def _chunks(self, payloads: list[bytes]) -> Iterator[Chunk]:
        for chunk in super()._chunks(payloads):
            yield self._part(msgspec.json.encode(chunk.text).decode()[1:-1]) if isinstance(chunk, Text) else chunk

    def end(self) -> Iterator[Chunk]:
        for chunk in super().end():
            if isinstance(chunk, Finish):
                yield self._part('"}')
                yield Finish("tool_calls" if chunk.reason == "stop" else chunk.reason, chunk.usage, chunk.stop)
            else:
                yield chunk

    def _part(self, arguments: str) -> CallPart:
        call_id, self._call_id = self._call_id, ""
        return CallPart(0, f'{{"input":"{arguments}', call_id, self._called) if call_id else CallPart(0, arguments)
