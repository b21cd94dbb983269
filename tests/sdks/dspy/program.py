"""An agent of DSPy (ReAct), with OpenInference's instrumentation."""

import json
import os
import sys

import dspy
from openinference.instrumentation import TracerProvider, using_session
from openinference.instrumentation.dspy import DSPyInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
DSPyInstrumentor().instrument(tracer_provider=provider)


class Scripted(dspy.ChatAdapter):
    """Has the model answer in the words of this adapter: a script stands before what it is asked."""

    def format(self, signature, demos, inputs):
        if "next_tool_name" not in signature.output_fields:
            said = {"reasoning": "It was looked up.", "answer": answers[inputs["question"]]}
        elif "observation_0" in inputs["trajectory"]:
            said = {"next_thought": "Done.", "next_tool_name": "finish", "next_tool_args": "{}"}
        else:
            city = inputs["question"].rpartition(" ")[2].rstrip("?")
            call = {"next_tool_name": "get_weather", "next_tool_args": json.dumps({"city": city})}
            said = {"next_thought": "The weather is to be looked up.", **call}
        lines = [f"say [[ ## {name} ## ]] {value}" for name, value in said.items()]
        *before, last = super().format(signature, demos, inputs)
        return [*before, {**last, "content": "\n".join(["!script", *lines, "end", last["content"]])}]


dspy.configure(lm=dspy.LM(f"openai/{os.environ['MODEL']}", cache=False), adapter=Scripted())


def get_weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("The final answer: there is no weather of Atlantis.")
    return "The final word: about 18 degrees and clear."


answers = {
    os.environ["FIRST"]: "It is clear in Paris, at 18 degrees.",
    os.environ["SECOND"]: "Nobody knows the weather of Atlantis.",
}
agent = dspy.ReAct("question -> answer", tools=[get_weather])
with using_session("travel-talk"):
    for asked in (os.environ["FIRST"], os.environ["SECOND"]):
        sys.stdout.write(f"{agent(question=asked).answer}\n")
provider.shutdown()
