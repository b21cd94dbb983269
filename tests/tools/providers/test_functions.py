"""Python functions as tools, in a real process of their own: what a model is told of them, and what comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents.loop.protocols.tools import Tool, ToolContext, ToolResult, rule_in_doubt
from agents.loop.run_tool import run_tool
from agents.record.schemas.content import ImageData, ImageItem
from agents.tools.providers.function_worker import FunctionError, FunctionWorker
from agents.tools.providers.functions import groups

CONTEXT = ToolContext("session", "turn", "tester")
MODULE = "tests.support.offered_functions"
NAMES = ["add", "fail", "on_loop", "beside_loop", "whose", "values", "draw", "half", "large", "die", "spin", "refund"]
NAMES += ["was_cancelled", "hold", "release", "linger", "began_to_linger", "was_left"]


class Offered:
    """The functions, and the loop that they are called on."""

    def __init__(self) -> None:
        paths = {"lengths": [f"{MODULE}:{name}" for name in NAMES]}
        self.worker, self.loop = FunctionWorker(paths), asyncio.new_event_loop()
        [self.group] = groups(self.worker, paths)

    def tool(self, name: str) -> Tool:
        found = self.group.find(name)
        assert found is not None
        return found

    def ask(self, name: str, within_s: float = 30, **arguments: Any) -> ToolResult:
        return self.loop.run_until_complete(run_tool(self.tool(name), arguments, CONTEXT, within_s))


@pytest.fixture(scope="module")
def offered() -> Iterator[Offered]:
    made = Offered()
    yield made
    made.loop.run_until_complete(made.worker.close())
    made.loop.close()


def test_the_signature_is_the_schema_and_the_docstring_the_description(offered: Offered) -> None:
    definition = offered.tool("add").definition

    assert (definition.name, definition.description) == ("add", "Add two lengths.")
    schema = definition.input_schema
    assert schema is not None
    assert schema["required"] == ["first"]
    assert schema["properties"]["first"] == {"type": "integer", "description": "The one length, in its unit"}
    assert schema["properties"]["second"] == {"type": "integer", "default": 2, "description": "The other"}
    assert {"enum": ["m", "km"], "type": "string"} in schema["properties"]["unit"]["anyOf"]
    assert schema["properties"]["tags"]["items"] == {"type": "string"}


def test_it_is_called_with_what_it_takes(offered: Offered) -> None:
    result = offered.ask("add", first=1, unit="km")
    assert json.loads(str(result.content)) == {"sum": 3, "unit": "km", "tags": []}
    assert result.error is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "first: Field required"),
        ({"first": "x"}, "first: "),
        ({"first": 1, "third": 3}, "third: Extra inputs are not permitted"),
        ({"first": 1, "unit": "mile"}, "unit: "),
        ({"first": 1, "tags": ["a", "b", "c"]}, "tags: "),
    ],
)
def test_wrong_arguments_are_answered_by_name(offered: Offered, arguments: dict[str, Any], words: str) -> None:
    result = offered.ask("add", **arguments)
    assert result.error == result.content
    assert words in str(result.error)


@pytest.mark.parametrize(
    ("how", "error"),
    [("lookup", "LookupError: no such order"), ("exit", "SystemExit: 3"), ("stop", "StopIteration: 1")],
)
def test_what_is_raised_is_an_answer_and_ends_the_call_only(offered: Offered, how: str, error: str) -> None:
    assert offered.ask("fail", how=how).error == error


def test_a_coroutine_function_runs_on_the_loop_and_a_plain_one_beside_it(offered: Offered) -> None:
    assert (offered.ask("on_loop").content, offered.ask("beside_loop").content) == ("True", "False")


def test_whose_run_it_is_comes_apart_and_cannot_be_named(offered: Offered) -> None:
    schema = offered.tool("whose").definition.input_schema
    assert schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert offered.ask("whose").content == "tester"
    assert "context" in str(offered.ask("whose", context={"actor": "boss"}).error)


@pytest.mark.parametrize(
    ("which", "content"), [("none", "null"), ("inf", "Infinity"), ("set", "[1,2]"), ("type", "<class 'object'>")]
)
def test_any_value_is_an_answer(offered: Offered, which: str, content: str) -> None:
    assert str(offered.ask("values", which=which).content).strip('"') == content


def test_content_results_and_large_texts_are_kept_as_they_are(offered: Offered) -> None:
    assert offered.ask("draw").content == ImageItem(image=ImageData(data="aGk="))
    assert offered.ask("half") == ToolResult(content="half", error="no more", metadata={"pages": 1})
    assert offered.ask("large", size=50_000_000).content == "x" * 50_000_000


def test_a_process_that_dies_is_a_failure_and_the_next_call_works(offered: Offered) -> None:
    words = "the process of the tools ended during this call (signal 9); it is not known whether it took effect"
    assert offered.ask("die").error == words
    assert offered.ask("whose").content == "tester"


def test_a_call_that_takes_too_long_is_ended_in_its_thread(offered: Offered) -> None:
    assert offered.ask("spin", within_s=0.3).error == "spin did not answer within 0.3 s."
    assert offered.ask("was_cancelled").content == "True"


def test_a_coroutine_function_is_cancelled_with_whoever_waits_for_it(offered: Offered) -> None:
    async def leave() -> None:
        waiting = asyncio.create_task(run_tool(offered.tool("linger"), {}, CONTEXT, 30))
        while (await run_tool(offered.tool("began_to_linger"), {}, CONTEXT, 30)).content != "True":
            pass
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    offered.loop.run_until_complete(leave())
    assert offered.ask("was_left").content == "True"


def test_one_function_too_many_at_once_is_refused(offered: Offered) -> None:
    async def crowd() -> tuple[list[ToolResult], list[ToolResult]]:
        calls = [asyncio.create_task(run_tool(offered.tool("hold"), {}, CONTEXT, 60)) for _ in range(65)]
        first, others = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        await run_tool(offered.tool("release"), {}, CONTEXT, 30)
        return [call.result() for call in first], list(await asyncio.gather(*others))

    refused, done = offered.loop.run_until_complete(crowd())
    assert [result.error for result in refused] == ["RuntimeError: 64 functions are running already"]
    assert [result.content for result in done] == ["True"] * 64


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("json.dumps", "write package.module:function"),
        ("no_such_module:f", "No module named"),
        ("json:no_such", "no attribute"),
        ("json:__doc__", "is not a function"),
        ("builtins:print", "cannot be named by a model"),
        ("agents.loop.run_tool:run_tool", "the server's own is not for functions"),
        (f"{MODULE}:odd", "odd: no schema"),
        (f"{MODULE}:perhaps", r"perhaps\.in_doubt is 'perhaps': it must be one of wait, done, not_done"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_at_once(path: str, words: str) -> None:
    with pytest.raises(FunctionError, match=words):
        FunctionWorker({"functions": [path]})


def test_a_function_says_what_is_done_about_its_calls_when_a_process_is_lost(offered: Offered) -> None:
    whose, refund = offered.tool("whose"), offered.tool("refund")
    assert (whose.repeat, rule_in_doubt(whose)) == ("write", "wait")
    assert (refund.repeat, rule_in_doubt(refund)) == ("idempotent", "done")
