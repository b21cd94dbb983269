"""Calls of functions, several at once: a plain function in a thread of its own, a coroutine function on the loop, which
it must not hold up.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from turnlog.tool_worker.answers import Answer, answer, failure, raised
from turnlog.tool_worker.functions import FunctionTool
from turnlog.tools import ToolContext

MAX_THREADS = 64
"""Functions that run at once; those that never end count too."""

Send = Callable[[dict[str, Any], bytes], None]


class Calls:
    """The calls that run. Its methods are for the loop's thread."""

    def __init__(self, tools: list[FunctionTool], send: Send) -> None:
        self._tools, self._send = tools, send
        self._waited_for: dict[int, _Running] = {}
        self._threads: set[_ThreadCall] = set()
        self._loop = asyncio.get_running_loop()

    def begin(self, message: dict[str, Any]) -> None:
        """Begin a call; its answer is sent once it has ended."""
        number, tool = message["call"], self._tools[message["tool"]]
        arguments, context = message["arguments"], ToolContext(**message["context"])
        if tool.is_coroutine:
            self._waited_for[number] = self._loop.create_task(self._await(number, tool, arguments, context))
        elif len(self._threads) >= MAX_THREADS:
            self._answer(number, failure(f"RuntimeError: {MAX_THREADS} functions are running already"))
        else:
            call = _ThreadCall(number, lambda: _answered(tool, arguments, context), self._on_thread_end)
            self._threads.add(call)
            self._waited_for[number] = call
            call.start()

    def cancel(self, number: int) -> None:
        """End a call, if it still runs: nobody waits for its answer any more."""
        call = self._waited_for.pop(number, None)
        if call is not None:
            call.cancel()

    def cancel_all(self) -> None:
        for number in list(self._waited_for):
            self.cancel(number)

    async def _await(self, number: int, tool: FunctionTool, arguments: dict[str, Any], context: ToolContext) -> None:
        try:
            result = answer(await tool.call(arguments, context))
        except asyncio.CancelledError:
            if number not in self._waited_for:
                raise
            result = failure(f"{tool.name} gave up.")  # the function's own doing: nobody has cancelled it
        except BaseException as error:  # noqa: BLE001 - a mistake of somebody's function is an answer, also sys.exit()
            result = raised(error)
        self._answer(number, result)

    def _on_thread_end(self, call: _ThreadCall) -> None:
        """In the thread of the call, maybe twice."""
        with suppress(RuntimeError):  # the loop is closed: this process ends
            self._loop.call_soon_threadsafe(self._end_thread, call)

    def _end_thread(self, call: _ThreadCall) -> None:
        if call in self._threads:
            self._threads.remove(call)
            call.let_go()
            if call.answer is not None:
                self._answer(call.number, call.answer)

    def _answer(self, number: int, result: Answer) -> None:
        self._waited_for.pop(number, None)
        head, body = result
        self._send({"call": number, **head}, body)


def _answered(tool: FunctionTool, arguments: dict[str, Any], context: ToolContext) -> Answer:
    try:
        return answer(tool.call(arguments, context))
    except Cancelled:
        raise
    except BaseException as error:  # noqa: BLE001 - a mistake of somebody's function is an answer, also sys.exit()
        return raised(error)


class _Running(Protocol):
    def cancel(self) -> object: ...


class Cancelled(BaseException):
    """Raised in the thread of a call that nobody waits for any more, at the next instruction of Python code."""


class _ThreadCall:
    """A call in a thread of its own, whose ``answer`` is None while there is none.

    An exception that is raised from outside comes at any instruction, also between two of ours. So all that the thread
    does of ours can be done twice, it is raised once at most, and the thread stays until the loop lets it go: from then
    on nothing is raised in it, nor in another thread that has got its identifier.
    """

    def __init__(self, number: int, work: Callable[[], Answer], on_end: Callable[[_ThreadCall], None]) -> None:
        self.number = number
        self.answer: Answer | None = None
        self._work, self._on_end = work, on_end
        self._runs = self._is_cancelled = self._is_over = False
        # a bare lock, which is never left half taken, as an Event can be
        self._gate = threading.Lock()
        self._gate.acquire()
        self._thread = threading.Thread(target=self._run, name="tool", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """On the loop, once."""
        self._is_cancelled = True
        if self._runs and not self._is_over:
            identifier = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(identifier, ctypes.py_object(Cancelled))

    def let_go(self) -> None:
        """On the loop: let the thread end."""
        self._is_over = True
        self._gate.release()

    def _run(self) -> None:
        try:
            self._go()
        except Cancelled:
            self._go()

    def _go(self) -> None:
        self._runs = True
        if self.answer is None and not self._is_cancelled:
            self.answer = self._work()
        self._on_end(self)
        if not self._is_over:
            self._gate.acquire()
