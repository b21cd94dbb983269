"""Evaluates an agent, as a step of CI: asks it a table of questions, and writes a score of each answer into the log.

    python -m examples.evaluate [--threshold 0.75] [--agent NAME]

Prints a table, and exits with 1 where the mean of the scores is below the threshold. Without ``--agent`` it makes one.
"""

import argparse
import os
import re
import sys
import uuid

from openai import OpenAI

from turnlog.client import Turnlog

SERVER = os.environ.get("TURNLOG_URL", "http://localhost:8321").rstrip("/")
MODEL = os.environ.get("TURNLOG_MODEL", "scripted/demo")
EXPECTED = {
    "Where is order 8841?": r"returned",
    "Has order 17 been paid?": r"status.*(paid|shipped|delivered|returned)",
    "What is the weather in Paris?": r"Paris.*celsius",
    "Is order 9 on its way?": r"shipped",
    "Which of your kettles are blue?": r"kettle 7",
}
"""Questions, each with a regular expression that a right answer matches."""


def new_agent(client: OpenAI) -> str:
    """Make the agent that is evaluated; returns its id."""
    config = {
        "name": "shop assistant",
        "model": MODEL,
        "instructions": "You answer the customers of a shop.",
        "toolgroups": ["builtin::demo"],
        "enable_session_persistence": True,
    }
    made: dict[str, str] = client.post("/agents", body={"agent_config": config}, cast_to=dict[str, str])
    return made["agent_id"]


def evaluate(client: OpenAI, log: Turnlog, agent: str, run: str) -> float:
    """Ask all questions, and print what came of them; returns the mean of the scores."""
    scores = []
    for question, right in EXPECTED.items():
        # the name is that of the session in the log, all else is for finding it there
        conversation = client.conversations.create(metadata={"name": f"Evaluation {run}"})
        response = client.responses.create(
            model=f"agent/{agent}", input=question, conversation=conversation.id, metadata={"evaluation": run}
        )
        score = 1.0 if re.search(right, response.output_text, re.IGNORECASE | re.DOTALL) else 0.0
        comment = "" if score else f"Expected to match: {right}"
        log.feedback.add(response_id=response.id, score={"correct": score}, comment=comment)
        turn = log.responses.get(response.id).turn_id
        print(f"{score:5.2f}  {question:<34}  {SERVER}/turns/{turn}/")
        scores.append(score)
    return sum(scores) / len(scores)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--threshold", type=float, default=0.75)
    arguments.add_argument("--agent", help="the name or id of an agent that is there")
    given = arguments.parse_args()
    run = uuid.uuid4().hex[:8]
    with OpenAI(base_url=f"{SERVER}/v1", api_key="none") as client, Turnlog(SERVER) as log:
        mean = evaluate(client, log, given.agent or new_agent(client), run)
    passed = mean >= given.threshold
    print(f"{mean:5.2f}  mean; {'passed' if passed else 'FAILED'}, the threshold is {given.threshold:.2f}")
    print(f"\nIn the log: {SERVER}/logs/?q=meta.evaluation%3A{run}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
