"""The scripted model's answers without a script.

The model recognises a few intents by words: it calls an offered tool whose name matches the question,
reports a tool's result, greets, and otherwise repeats the question with proof that it remembers the
conversation. Answers are Markdown. The same conversation always gets the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agents.base.schemas.wire import JSON
from agents.loop.inference.script.actions import CallTool, Say, ScriptAction
from agents.loop.inference.script.conversation import ChatHistory
from agents.loop.inference.script.sample import sample
from agents.record.schemas.content import ToolDef
from agents.record.schemas.items import tool_definition

# Limits of the text that is matched and of the text that is quoted.
_READ_CHARS = 2_000
_QUOTE_CHARS = 400
_RESULT_CHARS = 2_000

_WORD = re.compile(r"[a-z]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GREETING = re.compile(r"\s*(hi|hello|hey|howdy|moin|greetings|good (morning|day|afternoon|evening))\b", re.IGNORECASE)
_LOCATION = re.compile(r"\b(?:in|at|for|near|of|to|about)\s+([^?.!,;\n]{1,200})", re.IGNORECASE)
_WITH_DIGIT = re.compile(r"#?([A-Za-z_-]*\d[\w-]*)")
_NUMBER = re.compile(r"(?<![\w-])-?\d{1,15}")

# Words of a tool's name that do not tell its purpose.
_STOP_WORDS = frozenset(
    "a an and by client current fetch for get in is it my of the to tool".split()  # noqa: SIM905 - words, to be read
)
# Names of arguments whose value is the question itself, or the word in it that has a digit.
_QUESTION_ARGUMENTS = frozenset(("input", "message", "prompt", "q", "query", "question", "text"))
_CODE_ARGUMENTS = frozenset(("code", "id", "number", "order", "ref", "reference"))
_TRAILING = re.compile(r"\s+(?:now|please|right now|today|tomorrow|tonight)\s*$", re.IGNORECASE)
_TOPICS = {
    "forecast": "weather",
    "temperature": "weather",
    "rain": "weather",
    "sunny": "weather",
    "clock": "time",
    "date": "time",
    "today": "time",
    "package": "order",
    "parcel": "order",
    "delivery": "order",
    "shipment": "order",
}

_WELCOME = """\
Hello! I am a **scripted model**: I live inside this server, need no key, and answer the same \
question always the same way. Some things to try:

- ask about something that one of my tools is named after, such as the *weather*, the *time* or an \
*order*: I call the tool and tell you what it said;
- say anything else: I quote it and count what came before;
- write a script, and I perform it:

```
!script
think The user wants to see a script.
say Here it is.
```
"""


def reply(chat: ChatHistory, tools: Sequence[ToolDef]) -> list[ScriptAction]:
    """Choose the actions of the next round; ``tools`` are those the model may call."""
    if chat.results:
        return [Say(_summary(chat.results))]
    if tool := matching_tool(chat.question, tools):
        return [tool_call(tool, chat.question)]
    if _GREETING.match(chat.question):
        return [Say(_WELCOME)]
    return [Say(_echo(chat))]


def tool_call(tool: ToolDef, question: str) -> CallTool:
    """Build a call of ``tool`` with its required arguments, taken from the question where it has them.
    Raises SchemaError where no value is found."""
    schema = tool_definition(tool)["function"]["parameters"]
    properties, required = schema.get("properties"), schema.get("required")
    property_schemas = properties if isinstance(properties, dict) else {}
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    question = question[:_READ_CHARS].strip()
    arguments = {name: _argument(name, property_schemas.get(name), question, root=schema) for name in names}
    return CallTool(tool.name, msgspec.json.encode(arguments).decode())


def schema_answer(schema: dict[str, JSON]) -> Say:
    """Build an answer that a JSON schema accepts. Raises SchemaError."""
    return Say(msgspec.json.encode(sample(schema)).decode())


def matching_tool(question: str, tools: Sequence[ToolDef]) -> ToolDef | None:
    """Return the tool whose name shares most words with the question; the first of several."""
    topics = _topics(question[:_READ_CHARS])
    match = max(tools, key=lambda tool: len(topics & _topics(tool.name)), default=None)
    return match if match and topics & _topics(match.name) else None


def _topics(text: str) -> set[str]:
    singulars = {word.removesuffix("s") if len(word) > 3 else word for word in _lower_words(text)}
    return {_TOPICS.get(word, word) for word in singulars - _STOP_WORDS}


def _lower_words(text: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


def _argument(name: str, schema: JSON, question: str, *, root: JSON) -> JSON:
    schema = schema if isinstance(schema, dict) else {"type": "string"}
    choices = schema.get("enum")
    if isinstance(choices, list):
        mentioned = [choice for choice in choices if isinstance(choice, str) and choice.lower() in question.lower()]
        return mentioned[0] if mentioned else sample(schema, name=name, root=root)
    if schema.get("type") in ("integer", "number") and (number := _NUMBER.search(question)):
        return int(number[0])
    if schema.get("type") == "string" and question:
        return _part_about(name, question)
    return sample(schema, name=name, root=root)


def _part_about(name: str, question: str) -> str:
    """Return the part of the question for an argument of this name."""
    name_words = set(_lower_words(name))
    if name_words & _QUESTION_ARGUMENTS:
        return question
    if name_words & _CODE_ARGUMENTS and (code := _WITH_DIGIT.search(question)):
        return code[1]
    location = _LOCATION.search(question)
    return _TRAILING.sub("", location[1]).strip() if location else question


def _summary(results: list[tuple[str, str]]) -> str:
    parts = [f"`{name}` says:\n\n{_render(text[:_RESULT_CHARS])}" for name, text in results]
    return "\n\n".join([*parts, "That is all I know about it."])


def _render(text: str) -> str:
    """Render a JSON object as a list, all else as a quotation."""
    try:
        decoded = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict) or not decoded:
        return _quote(text or "nothing")
    return "\n".join(f"- **{key}**: {_plain(value)}" for key, value in decoded.items())


def _plain(value: JSON) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def _echo(chat: ChatHistory) -> str:
    return "\n\n".join(
        [
            "You said:",
            _quote(_shorten(chat.question) or "nothing"),
            _memory(chat),
            "I am a scripted model, so this is as far as my thoughts on it go.",
        ]
    )


def _memory(chat: ChatHistory) -> str:
    if not chat.earlier_messages:
        return "It is the first message of our conversation."
    count = "**1 message**" if len(chat.earlier_messages) == 1 else f"**{len(chat.earlier_messages)} messages**"
    return f"Before it came {count}, the first of which was:\n\n{_quote(_shorten(chat.earlier_messages[0].text))}"


def _shorten(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _QUOTE_CHARS else text[:_QUOTE_CHARS] + "…"
