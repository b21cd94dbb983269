"""Python functions as tools: what a model is told of them, and what comes back."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from agents.loop.protocols.tools import ToolContext, ToolResult, rule_in_doubt
from agents.loop.run_tool import run_tool
from agents.record.schemas.content import ImageData, ImageItem
from agents.tools.providers import functions
from agents.tools.providers.functions import FunctionError, load, tool

CONTEXT = ToolContext("session", "turn", "tester")


def add(
    first: int,
    second: int = 2,
    *,
    unit: Literal["m", "km"] | None = None,
    tags: Annotated[list[str], Field(max_length=2)] = [],  # noqa: B006 - as people write it
) -> dict[str, Any]:
    """
    Add two lengths.

    :param first: The one length,
        in its unit
    :param int second: The other
    :returns: Their sum
    """
    return {"sum": first + second, "unit": unit, "tags": tags}


def ask(function: Any, **arguments: Any) -> ToolResult:
    return asyncio.run(tool(function).call(arguments, CONTEXT))


def test_the_signature_is_the_schema_and_the_docstring_the_description() -> None:
    definition = tool(add).definition

    assert (definition.name, definition.description) == ("add", "Add two lengths.")
    schema = definition.input_schema
    assert schema is not None
    assert schema["required"] == ["first"]
    assert schema["properties"]["first"] == {"type": "integer", "description": "The one length, in its unit"}
    assert schema["properties"]["second"] == {"type": "integer", "default": 2, "description": "The other"}
    assert {"enum": ["m", "km"], "type": "string"} in schema["properties"]["unit"]["anyOf"]
    assert schema["properties"]["tags"]["items"] == {"type": "string"}


def test_it_is_called_with_what_it_takes() -> None:
    result = ask(add, first=1, unit="km")
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
def test_wrong_arguments_are_answered_by_name(arguments: dict[str, Any], words: str) -> None:
    result = ask(add, **arguments)
    assert result.error == result.content
    assert words in str(result.error)


def test_an_exception_is_an_answer_without_a_traceback() -> None:
    def broken() -> None:
        raise LookupError("no such order")

    assert ask(broken).error == "LookupError: no such order"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration(1)])
def test_what_would_end_a_process_ends_the_tool_only(error: BaseException) -> None:
    def broken() -> None:
        raise error

    assert type(error).__name__ in str(ask(broken).error)


def test_a_coroutine_function_runs_on_the_loop_and_a_plain_one_beside_it() -> None:
    async def here() -> str:
        return str(threading.current_thread() is threading.main_thread())

    def beside() -> str:
        return str(threading.current_thread() is threading.main_thread())

    assert (ask(here).content, ask(beside).content) == ("True", "False")


def test_whose_run_it_is_comes_apart_and_cannot_be_named() -> None:
    def whose(context: ToolContext) -> str:
        return context.actor

    assert tool(whose).definition.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert ask(whose).content == "tester"
    assert "context" in str(ask(whose, context={"actor": "boss"}).error)


@pytest.mark.parametrize(
    ("value", "content"),
    [("text", "text"), (None, "null"), (float("inf"), '"Infinity"'), ({1, 2}, "[1,2]"), (object, "<class 'object'>")],
)
def test_any_value_is_an_answer(value: Any, content: str) -> None:
    def give() -> Any:
        return value

    assert str(ask(give).content).strip('"') == content.strip('"')


def test_content_and_results_are_kept_as_they_are() -> None:
    image = ImageItem(image=ImageData(data="aGk="))
    result = ToolResult(content="half", error="no more", metadata={"pages": 1})

    def draw() -> ImageItem:
        return image

    def give() -> ToolResult:
        return result

    assert ask(draw).content == image
    assert ask(give) == result


def test_one_that_never_ends_is_left_behind() -> None:
    held = threading.Event()

    def hang() -> None:
        held.wait(30)

    result = asyncio.run(run_tool(tool(hang), {}, CONTEXT, 0.05))
    held.set()
    assert result.error == "hang did not answer within 0.05 s."


def test_no_more_run_at_once_than_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_threads", threading.Semaphore(1))
    held = threading.Event()

    def hang() -> str:
        return str(held.wait(30))

    async def both() -> list[ToolResult]:
        first = asyncio.ensure_future(tool(hang).call({}, CONTEXT))
        await asyncio.sleep(0)
        second = await tool(hang).call({}, CONTEXT)
        held.set()
        return [await first, second]

    first, second = asyncio.run(both())
    assert first.content == "True"
    assert "are running already" in str(second.error)


def test_groups_are_loaded_by_path() -> None:
    [group] = load({"lengths": [f"{__name__}:add"]}) if __name__ != "__main__" else []
    assert (group.name, group.provider_id) == ("lengths", "function")
    assert [one.group for one in group.tools] == ["lengths"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("json.dumps", "write package.module:function"),
        ("no_such_module:f", "No module named"),
        ("json:no_such", "no attribute"),
        ("json:__doc__", "is not a function"),
        ("builtins:print", "cannot be named by a model"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_at_once(path: str, words: str) -> None:
    with pytest.raises(FunctionError, match=words):
        load({"functions": [path]})


def test_a_type_without_a_schema_is_refused() -> None:
    def odd(what: threading.Event) -> None:
        """Takes what no JSON is."""

    with pytest.raises(FunctionError, match="odd: no schema"):
        tool(odd)


def test_a_function_says_what_is_done_about_its_calls_when_a_process_is_lost() -> None:
    def refund(order: str) -> str:
        """Pay it back."""
        return order

    assert (tool(refund).repeat, rule_in_doubt(tool(refund))) == ("write", "wait")
    vars(refund).update(repeat="idempotent", in_doubt="done")
    assert (tool(refund).repeat, rule_in_doubt(tool(refund))) == ("idempotent", "done")
    vars(refund).update(in_doubt="perhaps")
    with pytest.raises(FunctionError, match=r"refund\.in_doubt is 'perhaps': it must be one of wait, done, not_done"):
        tool(refund)
