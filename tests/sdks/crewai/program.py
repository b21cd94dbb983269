"""An agent of CrewAI, with OpenInference's instrumentations of it and of the client by which it asks its model."""

import os
import sys

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation import TracerProvider, using_session
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
CrewAIInstrumentor().instrument(tracer_provider=provider)
OpenAIInstrumentor().instrument(tracer_provider=provider)


@tool("get_weather")
def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


agent = Agent(
    role="weather_agent",
    goal="Answer questions about the weather.",
    backstory="You are brief.",
    llm=LLM(os.environ["MODEL"], provider="openai"),
    tools=[get_weather],
)
with using_session("travel-talk"):
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        task = Task(description=asked, expected_output="A sentence.", agent=agent)
        sys.stdout.write(f"{Crew(name='weather_crew', agents=[agent], tasks=[task]).kickoff()}\n")
provider.shutdown()
