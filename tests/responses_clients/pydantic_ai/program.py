"""pydantic-ai with its model for the Responses API."""

import os

import checks
from checks import script
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile

ROUNDS = script(
    "think Let me see.",
    'call get_weather {"city": "Paris"}',
    'call get_weather {"city": "Rome"}',
    "then",
    'call get_weather {"city": "Oslo"}',
    "then",
    "say Sunny in all three.",
)


class Forecast(BaseModel):
    city: str
    degrees: int


MODEL = OpenAIResponsesModel(
    os.environ["MODEL"], profile=OpenAIModelProfile(openai_supports_encrypted_reasoning_content=True)
)


def agent():
    made = Agent(MODEL, instructions="Be brief.")

    @made.tool_plain
    def get_weather(city: str) -> str:
        """The weather in a city."""
        weather.append(city)
        return f"Sunny in {city}."

    return made


weather = []


async def tools():
    weather.clear()
    result = await agent().run(ROUNDS)
    assert result.output == "Sunny in all three."
    assert sorted(weather) == ["Oslo", "Paris", "Rome"]
    assert result.usage.requests == 3
    assert result.usage.output_tokens > 0


async def streaming():
    async with agent().run_stream(ROUNDS) as result:
        words = "".join([word async for word in result.stream_text(delta=True)])
    assert words == "Sunny in all three."


async def structured_output():
    for output in (Forecast, NativeOutput(Forecast)):
        result = await Agent(MODEL, output_type=output).run("Tomorrow in Rome?")
        assert isinstance(result.output, Forecast)


async def several_turns():
    helper = agent()
    first = await helper.run(ROUNDS)
    second = await helper.run(script("say Again."), message_history=first.all_messages())
    third = await helper.run("And now?", message_history=second.all_messages())
    assert second.output == "Again."
    assert "And now?" in third.output


async def previous_response():
    helper = agent()
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")
    first = await helper.run(ROUNDS, model_settings=settings)
    second = await helper.run(script("say Again."), message_history=first.all_messages(), model_settings=settings)
    assert (first.output, second.output) == ("Sunny in all three.", "Again.")


async def unstored_reasoning():
    helper = agent()
    settings = OpenAIResponsesModelSettings(openai_store=False, openai_reasoning_summary="auto")
    first = await helper.run(ROUNDS, model_settings=settings)
    thoughts = [part for message in first.all_messages() for part in message.parts if isinstance(part, ThinkingPart)]
    assert thoughts, first.all_messages()
    assert all(thought.signature for thought in thoughts), thoughts
    second = await helper.run(script("say Again."), message_history=first.all_messages(), model_settings=settings)
    assert second.output == "Again."


checks.run(tools, streaming, structured_output, several_turns, previous_response, unstored_reasoning)
