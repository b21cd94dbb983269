"""LiteLLM's `responses`, which it passes on as it is, and its `completion` by way of the Responses API."""

import json
import os

import checks
import litellm
from checks import script
from pydantic import BaseModel

MODEL = f"openai/{os.environ['MODEL']}"
ROUNDS = script(
    "think Let me see.",
    'call get_weather {"city": "Paris"}',
    'call get_weather {"city": "Rome"}',
    "then",
    'call get_weather {"city": "Oslo"}',
    "then",
    "say Sunny in all three.",
)
TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class Forecast(BaseModel):
    city: str
    degrees: int


def ask(items, **more):
    return litellm.responses(model=MODEL, input=items, tools=[TOOL], **more)


def text(response):
    return "".join(part.text for item in response.output if item.type == "message" for part in item.content)


def answers(response):
    """What its tool says to each call."""
    calls = [item for item in response.output if item.type == "function_call"]
    said = [(call.call_id, f"Sunny in {json.loads(call.arguments)['city']}.") for call in calls]
    return [{"type": "function_call_output", "call_id": call_id, "output": words} for call_id, words in said]


def tools():
    """With the whole history each time."""
    history = [{"role": "user", "content": ROUNDS}]
    for calls in (2, 1, 0):
        response = ask(history)
        given = answers(response)
        assert len(given) == calls
        history += [item.model_dump(exclude_none=True) for item in response.output] + given
    assert text(response) == "Sunny in all three."
    assert response.usage.output_tokens > 0


def streaming():
    words, last = "", None
    for event in litellm.responses(model=MODEL, input=script("think Hm.", "say Word by word."), stream=True):
        if event.type == "response.output_text.delta":
            words += event.delta
        last = event
    assert words == "Word by word."
    assert last.type == "response.completed"
    assert text(last.response) == words


def structured_output():
    response = litellm.responses(model=MODEL, input="Tomorrow in Rome?", text_format=Forecast)
    Forecast.model_validate_json(text(response))


def previous_response():
    """With what is new alone."""
    response = ask(ROUNDS)
    while given := answers(response):
        response = ask(given, previous_response_id=response.id)
    assert text(response) == "Sunny in all three."
    assert text(ask(script("say Again."), previous_response_id=response.id)) == "Again."
    assert text(litellm.get_responses(response.id, custom_llm_provider="openai")) == "Sunny in all three."
    litellm.delete_responses(response.id, custom_llm_provider="openai")


def unstored_reasoning():
    more = {"store": False, "include": ["reasoning.encrypted_content"]}
    first = ask(ROUNDS, **more)
    [thought] = [item for item in first.output if item.type == "reasoning"]
    assert thought.encrypted_content
    sent = [item.model_dump(exclude_none=True) for item in first.output]
    second = ask([{"role": "user", "content": ROUNDS}, *sent, *answers(first)], **more)
    assert [item.type for item in second.output] == ["function_call"]


async def asynchronous():
    response = await litellm.aresponses(model=MODEL, input=script("say Later."))
    assert text(response) == "Later."


def chat_by_responses():
    """Its translation of chat completions, which is what its proxy makes of them for some models."""
    functions = [{"type": "function", "function": {key: value for key, value in TOOL.items() if key != "type"}}]
    asked = [{"role": "user", "content": ROUNDS}]
    response = litellm.completion(model=f"openai/responses/{os.environ['MODEL']}", messages=asked, tools=functions)
    [choice] = response.choices
    assert [call.function.name for call in choice.message.tool_calls] == ["get_weather"] * 2
    stream = litellm.completion(
        model=f"openai/responses/{os.environ['MODEL']}",
        messages=[{"role": "user", "content": script("say Word by word.")}],
        stream=True,
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == "Word by word."


litellm.telemetry = False
checks.run(tools, streaming, structured_output, previous_response, unstored_reasoning, asynchronous, chat_by_responses)
