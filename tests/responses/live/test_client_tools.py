"""Tools that the client runs and that are no functions, with OpenAI's client: each is offered, called as the item that
the client knows, answered, and read back the same from stream, response and conversation."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.responses import Response

from tests.support.live.caller import Caller, script
from tests.support.live.openai_api import MODEL, answered, asked, frames_of, function, said, streamed, turns, types

pytestmark = pytest.mark.server


def held_to(syntax: str, definition: str) -> dict[str, Any]:
    """A custom tool with a grammar."""
    form = {"type": "grammar", "syntax": syntax, "definition": definition}
    return {"type": "custom", "name": "apply", "format": form}


PATCH = held_to("lark", 'start: "x"')
CLOCK = {
    "type": "namespace",
    "name": "clock",
    "description": "Time",
    "tools": [function("sleep", "seconds"), {"type": "custom", "name": "note"}],
}


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    return openai_client


def called(client: OpenAI, tools: Sequence[Any], call: str, **more: Any) -> tuple[Response, Any]:
    """A response whose only item is a call, and that item, the same wherever it is read."""
    lines = script(call, "then", "say Done.")
    response = client.responses.create(model=MODEL, input=lines, tools=list(tools), **more)
    [item] = response.output
    assert client.responses.retrieve(response.id).output == [item]
    return response, item


def go_on(client: OpenAI, response: Response, tools: Sequence[Any], *items: Any) -> Response:
    return client.responses.create(model=MODEL, previous_response_id=response.id, input=list(items), tools=list(tools))


CALLS: dict[str, tuple[Any, str, dict[str, Any], Any]] = {
    "custom": (
        PATCH,
        'call apply {"input": "*** Begin\\n+ \\"a\\""}',
        {"type": "custom_tool_call", "name": "apply", "input": '*** Begin\n+ "a"'},
        {"type": "custom_tool_call_output", "output": "patched"},
    ),
    "namespace": (
        CLOCK,
        'call clock__sleep {"seconds": "3"}',
        {"type": "function_call", "name": "sleep", "namespace": "clock", "arguments": '{"seconds": "3"}'},
        {"type": "function_call_output", "output": "slept"},
    ),
    "custom in a namespace": (
        CLOCK,
        'call clock__note {"input": "late"}',
        {"type": "custom_tool_call", "name": "note", "namespace": "clock", "input": "late"},
        {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "noted"}]},
    ),
    "local_shell": (
        {"type": "local_shell"},
        'call local_shell {"command": ["ls", "-l"], "working_directory": "/tmp"}',
        {"type": "local_shell_call"},
        {"type": "local_shell_call_output", "output": '{"output": "a.txt"}'},
    ),
    "shell": (
        {"type": "shell"},
        'call shell {"commands": ["ls", "pwd"], "timeout_ms": 1000}',
        {"type": "shell_call"},
        {
            "type": "shell_call_output",
            "output": [
                {"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                {"stdout": "", "stderr": "no", "outcome": {"type": "exit", "exit_code": 2}},
            ],
        },
    ),
    "apply_patch": (
        {"type": "apply_patch"},
        'call apply_patch {"type": "create_file", "path": "a.py", "diff": "+pass"}',
        {"type": "apply_patch_call"},
        {"type": "apply_patch_call_output", "status": "completed", "output": "made"},
    ),
    "tool_search": (
        {"type": "tool_search", "execution": "client"},
        'call tool_search {"query": "weather"}',
        {"type": "tool_search_call", "arguments": {"query": "weather"}, "execution": "client"},
        {"type": "tool_search_output", "execution": "client", "tools": [function("weather", "city")]},
    ),
    "unknown": (
        {"type": "teleport", "name": "teleport", "parameters": {"type": "object"}},
        'call teleport {"to": "moon"}',
        {"type": "function_call", "name": "teleport"},
        {"type": "function_call_output", "output": "there"},
    ),
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_call_is_made_and_answered(client: OpenAI, kind: str) -> None:
    tool, call, expected, answer = CALLS[kind]
    response, item = called(client, [tool], call)
    assert item.to_dict().items() >= {**expected, "status": "completed"}.items()

    done = go_on(client, response, [tool], {**answer, "call_id": item.call_id})
    assert (done.status, done.output_text) == ("completed", "Done.")
    items = [one.to_dict() for one in client.responses.input_items.list(done.id, order="asc", limit=50)]
    assert [one["type"] for one in items] == ["message", expected["type"], answer["type"]]
    assert items[1] == item.to_dict()
    assert items[2].get("output") == answer.get("output")


@pytest.mark.parametrize("kind", CALLS)
def test_a_client_that_keeps_the_history_itself_goes_on(client: OpenAI, caller: Caller, kind: str) -> None:
    """As Codex does: nothing is stored, and everything is sent again with ids of its own."""
    tool, call, _, answer = CALLS[kind]
    question: Any = said(script(call, "then", "say Done."))
    first = client.responses.create(model=MODEL, input=[question], tools=[tool], store=False)
    item: dict[str, Any] = first.output[0].to_dict()
    items: list[Any] = [question, {**item, "id": f"{item['id'][:3]}_mine"}, {**answer, "call_id": item["call_id"]}]
    second = client.responses.create(model=MODEL, input=items, tools=[tool], store=False)
    assert second.output_text == "Done."


def test_the_actions_say_what_is_to_be_done(client: OpenAI) -> None:
    def item_of(kind: str) -> Any:
        tool, call, *_ = CALLS[kind]
        return called(client, [tool], call)[1]

    action = item_of("local_shell").action
    assert (action.type, action.command, action.env) == ("exec", ["ls", "-l"], {})
    assert (action.working_directory, action.timeout_ms) == ("/tmp", None)
    action = item_of("shell").action
    assert (action.commands, action.timeout_ms, action.max_output_length) == (["ls", "pwd"], 1000, None)
    operation = item_of("apply_patch").operation
    assert (operation.type, operation.path, operation.diff) == ("create_file", "a.py", "+pass")


def test_the_input_of_a_custom_tool_is_streamed(caller: Caller) -> None:
    frames = streamed(caller, asked('call apply {"input": "a\\nb"}', tools=[PATCH]))
    assert types(frames)[2:] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
        "completed",
    ]
    added, *_, done, end, completed = (frame.data for frame in frames[2:])
    assert added["item"] == {**end["item"], "input": "", "status": "in_progress"}
    assert "".join(frame.data.get("delta", "") for frame in frames) == done["input"] == end["item"]["input"] == "a\nb"
    assert completed["response"]["output"] == [end["item"]]
    name = completed["response"]["id"]
    again = frames_of(caller.get(f"/v1/responses/{name}?stream=true").body)
    assert [frame.raw for frame in again] == [frame.raw for frame in frames]


@pytest.mark.parametrize(
    ("call", "action"),
    [
        ("call local_shell nonsense", {"type": "exec", "command": [], "env": {}}),
        ('call local_shell {"command": "ls", "env": 7}', {"type": "exec", "command": ["ls"], "env": {}}),
    ],
)
def test_arguments_that_a_model_got_wrong_reach_the_client_in_form(client: OpenAI, call: str, action: Any) -> None:
    _, item = called(client, [{"type": "local_shell"}], call)
    assert item.action.to_dict().items() >= action.items()


def test_a_custom_tool_gets_what_a_model_wrote_instead_of_an_object(client: OpenAI) -> None:
    _, item = called(client, [PATCH], "call apply *** Begin")
    assert item.input == "*** Begin"


def test_a_local_shell_is_answered_by_the_id_of_its_item(client: OpenAI) -> None:
    """OpenAI's type for this output has no `call_id`."""
    tool, call, _, answer = CALLS["local_shell"]
    response, item = called(client, [tool], call)
    assert go_on(client, response, [tool], {**answer, "id": item.id}).output_text == "Done."


def test_tools_that_a_search_has_found_are_offered(client: OpenAI) -> None:
    tool, call, _, answer = CALLS["tool_search"]
    lines = script(call, "then", 'call weather {"city": "Rome"}', "then", "say Sunny.")
    response = client.responses.create(model=MODEL, input=lines, tools=[tool])
    searched: Any = response.output[0]
    found: Any = {**answer, "call_id": searched.call_id}
    second = go_on(client, response, [tool], found)
    assert [item.to_dict()["name"] for item in second.output] == ["weather"]


def test_tools_may_come_as_an_item_of_the_input(client: OpenAI) -> None:
    more: Any = {"type": "additional_tools", "role": "developer", "tools": [CLOCK, PATCH]}
    lines: Any = said(script('call clock__sleep {"seconds": "1"}'))
    response = client.responses.create(model=MODEL, input=[more, lines], store=False)
    assert [item.to_dict()["namespace"] for item in response.output] == ["clock"]


def test_secrets_of_a_server_do_not_come_as_items(caller: Caller) -> None:
    """Items are stored, and secrets are not."""
    server = {"type": "mcp", "server_label": "lab", "server_url": "http://localhost:1/mcp"}
    for secret in ({"authorization": "hush"}, {"headers": {"X-Key": "hush"}}):
        for kind in ("additional_tools", "tool_search_output"):
            item = {"type": kind, "role": "developer", "call_id": "c", "tools": [{**server, **secret}]}
            for path, body in (
                ("/v1/responses", {"model": MODEL, "input": [item, said("Hello")]}),
                ("/v1/conversations", {"items": [item]}),
            ):
                answer = caller.post(path, body)
                assert answer.status == 400, answer.body
                assert b"items are stored" in answer.body
                assert b"hush" not in answer.body


def test_a_tool_that_nobody_here_can_run_is_left_out_with_a_note(client: OpenAI, caller: Caller) -> None:
    tools: Any = [
        {"type": "image_generation"},
        {"type": "computer_use_preview", "display_width": 1, "display_height": 1, "environment": "linux"},
        {"type": "shell", "environment": {"type": "container_auto"}},
        {"type": "tool_search"},
        function("look"),
    ]
    mark = f"mark{uuid.uuid4().hex}"
    response = client.responses.create(model=MODEL, input=script(f"say Fine, {mark}."), tools=tools)
    assert response.output_text == f"Fine, {mark}."
    [turn] = turns(caller, mark)
    steps = caller.get(f"/v1/logs/steps?order=asc&q=turn:{turn['id']}").json["data"]
    assert [step["name"] for step in sorted(steps, key=lambda step: step["number"])] == ["tools left out", MODEL]
    page = caller.get(f"/turns/{turn['id']}/").body.decode()
    assert "image_generation" in page
    assert "shell in a container" in page


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "image_generation"},
        {"type": "computer_use_preview", "display_width": 1, "display_height": 1, "environment": "linux"},
        {"type": "programmatic_tool_calling"},
    ],
)
def test_it_is_refused_by_name_where_it_must_be_called(client: OpenAI, tool: Any) -> None:
    with pytest.raises(openai.BadRequestError, match=f"there is no tool {tool['type']}"):
        client.responses.create(model=MODEL, input="Hello", tools=[tool], tool_choice={"type": tool["type"]})


@pytest.mark.parametrize(
    ("tool", "choice"),
    [
        (PATCH, {"type": "custom", "name": "apply"}),
        (CLOCK, {"type": "function", "name": "sleep", "namespace": "clock"}),
        ({"type": "shell"}, {"type": "shell"}),
        ({"type": "apply_patch"}, {"type": "apply_patch"}),
        (PATCH, {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "apply"}]}),
    ],
)
def test_one_may_be_chosen(client: OpenAI, tool: Any, choice: Any) -> None:
    look: Any = function("look")
    response = client.responses.create(model=MODEL, input=script("say Fine."), tools=[tool, look], tool_choice=choice)
    assert response.status == "completed"
    with pytest.raises(openai.BadRequestError, match="there is no tool"):
        client.responses.create(model=MODEL, input="Hello", tools=[look], tool_choice=choice)


def test_tools_of_one_name_in_two_namespaces_are_two(client: OpenAI) -> None:
    other, twice = {**CLOCK, "name": "calendar"}, list[Any]((CLOCK, CLOCK))
    _, item = called(client, [CLOCK, other], 'call calendar__sleep {"seconds": "3"}')
    assert (item.name, item.namespace) == ("sleep", "calendar")
    with pytest.raises(openai.BadRequestError, match="two tools named 'clock__sleep'"):
        client.responses.create(model=MODEL, input="Hello", tools=twice)


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ({"type": "custom"}, "name"),
        ({"type": "custom", "name": "has blanks"}, "name"),
        ({**PATCH, "format": {"type": "grammar"}}, "syntax"),
        (held_to("regex", "("), "not a regular expression"),
        (held_to("lark", "x: y"), "rule 'start'"),
        (held_to("lark", 'start: "x'), "not a Lark grammar: Unexpected input at line 1 column 8"),
        (held_to("lark", "start: y"), "Rule 'y' used but not defined (in rule start)"),
        (held_to("lark", 'start: "a"\nstart: "b"'), "Rule 'start' defined more than once"),
        (held_to("lark", "start: A\nA: B\nB: A"), "Recursion in terminal 'A'"),
        (held_to("lark", "start: " + "(" * 3_000 + '"x"' + ")" * 3_000), "nested too deeply"),
        (held_to("lark", "%import .pyproject.A\nstart: A"), "only %import common can be used"),
        (held_to("lark", "%import python.number\nstart: number"), "only %import common can be used"),
        (held_to("regex", "(a"), "not a regular expression"),
        (held_to("regex", "((a{99}){99}){99}"), "definition"),
        (held_to("lark", "x" * 65_537), "65536"),
        (held_to("bnf", "x"), "syntax"),
        ({**CLOCK, "tools": [{"type": "web_search"}]}, "tools"),
        ({**CLOCK, "tools": [function("look")] * 257}, "tools"),
        ({"name": "untyped"}, "a tool needs a type"),
    ],
)
def test_a_tool_that_is_none_is_refused_with_the_reason(caller: Caller, tool: Any, reason: str) -> None:
    answer = caller.post("/v1/responses", {"model": MODEL, "input": "Hello", "tools": [tool]})
    assert answer.status == 400, answer.body
    assert reason in json.dumps(answer.json), answer.body
    assert answer.json["error"]["param"].startswith("tools")


def test_an_output_without_its_call_is_refused(client: OpenAI) -> None:
    orphan: list[Any] = [said("Hello"), {"type": "custom_tool_call_output", "call_id": "call_x", "output": "x"}]
    tools: list[Any] = [PATCH]
    with pytest.raises(openai.BadRequestError, match="No tool call found"):
        client.responses.create(model=MODEL, input=orphan, tools=tools)


@pytest.mark.parametrize(
    "definition",
    [
        """
        start: begin_patch hunk+ end_patch
        begin_patch: "*** Begin Patch" LF
        end_patch: "*** End Patch" LF?
        hunk: "*** Add File: " filename LF add_line+ | "*** Delete File: " filename LF
        filename: /(.+)/
        add_line: "+" /(.*)/ LF -> line
        %import common.LF
        """,
        "?start: (pair _SEP?)*\npair.2: WORD~1..1000000\n_SEP: /,/i\n%import common (WORD, WS)\n%ignore WS",
        f"start: {'A? ' * 40}\nA: /a/",
        '%llguidance {"no_forcing": true}\nstart: "x"',
        "start[lazy]: /x+/",
        'start: %json {"type": "object"}',
    ],
)
def test_a_grammar_that_can_be_read_is_taken(caller: Caller, definition: str) -> None:
    tools = [held_to("lark", definition.replace("\n        ", "\n"))]
    answered(caller.post("/v1/responses", {"model": MODEL, "input": "Hello", "tools": tools}))
