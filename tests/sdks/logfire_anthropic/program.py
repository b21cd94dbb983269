"""A loop of one's own around Anthropic's client, which Logfire instruments; spans of one's own are those of the agent
and of the tool. The first call of each turn is streamed."""

import os
import sys

import logfire
from anthropic import Anthropic

logfire.configure(send_to_logfire=False)
logfire.instrument_anthropic()
client = Anthropic()
REQUEST = {
    "model": os.environ["MODEL"],
    "max_tokens": 1000,
    "system": "Be brief.",
    "tools": [
        {
            "name": "get_weather",
            "description": "The weather in a city.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }
    ],
}
AGENT = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "weather_agent",
    "gen_ai.conversation.id": "travel-talk",
}


def get_weather(city):
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


def called(block):
    asked = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": block.name,
        "gen_ai.tool.call.id": block.id,
        "gen_ai.tool.call.arguments": block.input,
    }
    with logfire.span("execute_tool {name}", name=block.name, **asked) as span:
        result = get_weather(**block.input)
        span.set_attribute("gen_ai.tool.call.result", result)
        return result


def result_of(block):
    given = {"type": "tool_result", "tool_use_id": block.id}
    try:
        return {**given, "content": called(block)}
    except LookupError as error:
        return {**given, "content": f"Error: {error}", "is_error": True}


def answer(text):
    messages.append({"role": "user", "content": text})
    with logfire.span("invoke_agent weather_agent", **AGENT):
        with client.messages.stream(messages=messages, **REQUEST) as stream:
            reply = stream.get_final_message()
        while reply.stop_reason == "tool_use":
            messages.append({"role": "assistant", "content": reply.content})
            results = [result_of(block) for block in reply.content if block.type == "tool_use"]
            messages.append({"role": "user", "content": results})
            reply = client.messages.create(messages=messages, **REQUEST)
    messages.append({"role": "assistant", "content": reply.content})
    return reply.content[0].text


messages = []
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    sys.stdout.write(f"{answer(asked)}\n")
