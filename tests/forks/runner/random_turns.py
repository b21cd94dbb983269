"""Turns put together at random, from all that a turn may have: rounds of calls beside each other, tools of the server
and of the client, results that fail, arguments that are no JSON, shields, retrieval, documents, answers in several
requests, in both APIs and behind a history."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from agents.responses.store import responses
from tests.forks.runner.forking import CLIENT_TOOL, Stage, key_of, respond_more
from tests.support.builders import make_agent, make_session
from tests.support.pages.openai_requests import LOOKUP, respond

WORDS = (
    "order",
    "Größe",
    "naïve",
    "日本語",
    "a\u200bb",
    '"quoted"',
    "</script>",
    "tab\there",
    "🙂",
    "\\n",
    "ok",
    "0",
    "null",
    "...",
)
SERVER_CALLS: tuple[str, ...] = (
    'lookup_order {"order": 8841}',
    'lookup_order {"order": "no number"}',
    'lookup_order {"order": 1, "b": [1.0, 1e-7, null, {"ü": true}]}',
    'get_weather {"city": "Lyon"}',
    'get_weather {"city": "Łódź 🙂"}',
    "get_weather {}",
    'web_search {"query": "kettles"}',
    'web_search {"query": "timeout"}',
    'nowhere {"to": "be found"}',
    "lookup_order not json at all",
)
CLIENT_CALL = 'ask {"what": "may I?"}'
MAX_ANSWERS = 6


@dataclass
class RandomTurn:
    """A turn to be played. ``lines`` are what its model performs, once it is."""

    choose: random.Random
    lines: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return json.dumps(self.lines, ensure_ascii=False)

    def play(self, stage: Stage) -> int:
        """Play the turn to its end; its key."""
        if self._maybe(0.3):
            return self._of_responses(stage)
        return self._of_agent(stage)

    def _script(self, calls: tuple[str, ...]) -> list[str]:
        lines: list[str] = []
        for _ in range(self.choose.randint(0, 3)):
            if self._maybe(0.3):
                lines.append(f"think {self._words()}")
            if self._maybe(0.3):
                lines.append(f"say {self._words()}")
            lines += [f"call {self.choose.choice(calls)}" for _ in range(self.choose.randint(1, 3))]
            lines.append("then")
        lines.append(f"say {self._words()}")
        if self._maybe(0.1):
            lines.append("length")
        elif self._maybe(0.1):
            lines.append("fail 400 It is too much.")
        self.lines = lines
        return lines

    def _words(self) -> str:
        return " ".join(self.choose.choices(WORDS, k=self.choose.randint(1, 12)))

    def _maybe(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _of_agent(self, stage: Stage) -> int:
        config = self._config()
        calls = (*SERVER_CALLS, *[CLIENT_CALL] * 3) if "client_tools" in config else SERVER_CALLS
        agent = make_agent(stage.actor, **config)
        session = make_session(stage.actor, agent)
        for _ in range(self.choose.randint(0, 2)):
            stage.say(agent, session, f"say {self._words()}")
        stage.model.take()
        documents = [{"content": self._words(), "mime_type": "text/plain"}]
        body = {"documents": documents} if self._maybe(0.2) else {}
        turn = stage.say(agent, session, f"# {self._words()}", *self._script(calls), **body)
        for _ in range(MAX_ANSWERS):
            waiting = stage.waiting(turn)
            if not waiting:
                break
            stage.answer(turn, *(self._words() for _ in waiting))
        return turn

    def _config(self) -> dict[str, Any]:
        sampling = {"strategy": {"type": "top_p", "temperature": self.choose.random(), "top_p": 0.5}}
        settings = (
            (0.3, {"toolgroups": ["builtin::demo", "builtin::demo_policies"]}),
            (0.2, {"input_shields": ["demo_guard"]}),
            (0.2, {"output_shields": ["demo_guard"]}),
            (0.5, {"client_tools": [CLIENT_TOOL]}),
            (0.3, {"sampling_params": {**sampling, "max_tokens": 4096}}),
            (0.2, {"max_infer_iters": self.choose.randint(1, 3)}),
        )
        config: dict[str, Any] = {"toolgroups": ["builtin::demo"], "instructions": self._words()}
        for chance, setting in settings:
            if self._maybe(chance):
                config |= setting
        return config

    def _of_responses(self, stage: Stage) -> int:
        more: dict[str, Any] = {"tools": [LOOKUP], "instructions": self._words()}
        if self._maybe(0.5):
            _, before = respond(stage.actor, f"say {self._words()}")
            [record] = responses.of_turn(stage.actor, key_of(before))
            more["previous_response_id"] = record.public_id
        stage.model.take()
        calls = tuple(call for call in SERVER_CALLS if call.startswith("lookup_order {"))
        name, turn_id = respond(stage.actor, *self._script(calls), **more)
        turn = key_of(turn_id)
        for _ in range(MAX_ANSWERS):
            waiting = stage.waiting(turn)
            if not waiting:
                break
            answers = [(call["call_id"], self._words()) for call in waiting]
            extra: dict[str, Any] = {"tools": [LOOKUP]}
            if self._maybe(0.3):
                extra |= {"instructions": self._words(), "temperature": round(self.choose.random(), 3)}
            say = self._words() if self._maybe(0.2) else ""
            name = respond_more(stage.actor, name, *answers, say=say, **extra)
        return turn
