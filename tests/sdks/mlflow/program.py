"""A loop of one's own around the openai client, traced by MLflow and sent as OTLP."""

import json
import os
import sys

import mlflow
from mlflow.entities import SpanType
from openai import OpenAI

mlflow.openai.autolog()
client = OpenAI()
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@mlflow.trace(span_type=SpanType.TOOL)
def get_weather(city):
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


def result_of(call):
    try:
        return get_weather(**json.loads(call.function.arguments))
    except LookupError as error:
        return f"Error: {error}"


@mlflow.trace(name="weather_agent", span_type=SpanType.AGENT)
def answer(text):
    mlflow.update_current_trace(metadata={"mlflow.trace.session": "travel-talk"})
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
for asked in (os.environ["FIRST"], os.environ["SECOND"]):
    sys.stdout.write(f"{answer(asked)}\n")
mlflow.flush_trace_async_logging()
