"""A loop of one's own around the openai client, observed by Langfuse's SDK."""

import json
import os
import sys

from langfuse import get_client, observe, propagate_attributes
from langfuse.openai import OpenAI

client = OpenAI()
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@observe(as_type="tool")
def get_weather(city):
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


def result_of(call):
    try:
        return get_weather(**json.loads(call.function.arguments))
    except LookupError as error:
        return f"Error: {error}"


@observe(as_type="agent", name="weather_agent")
def answer(text):
    messages.append({"role": "user", "content": text})
    while True:
        reply = client.chat.completions.create(model=os.environ["MODEL"], messages=messages, tools=[TOOL])
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result_of(call)})


messages = [{"role": "system", "content": "Be brief."}]
with propagate_attributes(session_id="travel-talk"):
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        sys.stdout.write(f"{answer(asked)}\n")
get_client().shutdown()
