"""What the scripted model answers by itself, without a script.

A few intents, recognised by words: it calls an offered tool whose name fits the question, tells
what the tool said, greets, and otherwise gives the question back with proof that it remembers the
conversation. Answers are Markdown. The same conversation always gets the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agents.base.schemas.wire import JSON
from agents.loop.inference.script.actions import Act, Call, Say
from agents.loop.inference.script.conversation import Conversation
from agents.loop.inference.script.sample import sample
from agents.record.schemas.content import ToolDef
from agents.record.schemas.items import tool_definition

# Matching looks no further into a question; quoting is kept short.
_READ_CHARS = 2_000
_QUOTE_CHARS = 400
_RESULT_CHARS = 2_000

_WORD = re.compile(r"[a-z]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GREETING = re.compile(r"\s*(hi|hello|hey|howdy|moin|greetings|good (morning|day|afternoon|evening))\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|at|for|near|of|to|about)\s+([^?.!,;\n]{1,200})", re.IGNORECASE)
_WITH_DIGIT = re.compile(r"#?([A-Za-z_-]*\d[\w-]*)")
_NUMBER = re.compile(r"(?<![\w-])-?\d{1,15}")

# Words of a tool's name that say nothing about what it is for.
_EMPTY_WORDS = frozenset(
    "a an and by client current fetch for get in is it my of the to tool".split()  # noqa: SIM905 - words, to be read
)
# What names of arguments ask for: the question itself, or the piece of it with a digit.
_WHOLE = frozenset(("input", "message", "prompt", "q", "query", "question", "text"))
_CODES = frozenset(("code", "id", "number", "order", "ref", "reference"))
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


def reply(talk: Conversation, tools: Sequence[ToolDef]) -> list[Act]:
    """The acts of the next round; ``tools`` are those it may call."""
    if talk.results:
        return [Say(_summary(talk.results))]
    if tool := fitting(talk.question, tools):
        return [call(tool, talk.question)]
    if _GREETING.match(talk.question):
        return [Say(_WELCOME)]
    return [Say(_echo(talk))]


def call(tool: ToolDef, question: str) -> Call:
    """A call of ``tool`` with the required arguments, as far as the question tells them. Raises
    SchemaError where no value is found."""
    schema = tool_definition(tool)["function"]["parameters"]
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, dict) else {}
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    question = question[:_READ_CHARS].strip()
    arguments = {name: _argument(name, known.get(name), question, root=schema) for name in names}
    return Call(tool.name, msgspec.json.encode(arguments).decode())


def instance(schema: dict[str, JSON]) -> Say:
    """An answer that a JSON schema accepts. Raises SchemaError."""
    return Say(msgspec.json.encode(sample(schema)).decode())


def fitting(question: str, tools: Sequence[ToolDef]) -> ToolDef | None:
    """The tool whose name shares most with the question; the first of several."""
    asked = _topics(question[:_READ_CHARS])
    best = max(tools, key=lambda tool: len(asked & _topics(tool.name)), default=None)
    return best if best and asked & _topics(best.name) else None


def _topics(text: str) -> set[str]:
    words = {word.removesuffix("s") if len(word) > 3 else word for word in _words(text)}
    return {_TOPICS.get(word, word) for word in words - _EMPTY_WORDS}


def _words(text: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", text).lower())


def _argument(name: str, schema: JSON, question: str, *, root: JSON) -> JSON:
    schema = schema if isinstance(schema, dict) else {"type": "string"}
    choices = schema.get("enum")
    if isinstance(choices, list):
        said = [choice for choice in choices if isinstance(choice, str) and choice.lower() in question.lower()]
        return said[0] if said else sample(schema, name=name, root=root)
    if schema.get("type") in ("integer", "number") and (number := _NUMBER.search(question)):
        return int(number[0])
    if schema.get("type") == "string" and question:
        return _part_about(name, question)
    return sample(schema, name=name, root=root)


def _part_about(name: str, question: str) -> str:
    """The words of the question that an argument of this name wants."""
    about = set(_words(name))
    if about & _WHOLE:
        return question
    if about & _CODES and (code := _WITH_DIGIT.search(question)):
        return code[1]
    place = _PLACE.search(question)
    return _TRAILING.sub("", place[1]).strip() if place else question


def _summary(results: list[tuple[str, str]]) -> str:
    parts = [f"`{name}` says:\n\n{_rendered(text[:_RESULT_CHARS])}" for name, text in results]
    return "\n\n".join([*parts, "That is all I know about it."])


def _rendered(text: str) -> str:
    """A JSON object as a list, all else as a quotation."""
    try:
        decoded = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict) or not decoded:
        return _quoted(text or "nothing")
    return "\n".join(f"- **{key}**: {_plain(value)}" for key, value in decoded.items())


def _plain(value: JSON) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def _echo(talk: Conversation) -> str:
    return "\n\n".join(
        [
            "You said:",
            _quoted(_shortened(talk.question) or "nothing"),
            _memory(talk),
            "I am a scripted model, so this is as far as my thoughts on it go.",
        ]
    )


def _memory(talk: Conversation) -> str:
    if not talk.before:
        return "It is the first message of our conversation."
    count = "**1 message**" if len(talk.before) == 1 else f"**{len(talk.before)} messages**"
    return f"Before it came {count}, the first of which was:\n\n{_quoted(_shortened(talk.before[0].text))}"


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _QUOTE_CHARS else text[:_QUOTE_CHARS] + "…"
