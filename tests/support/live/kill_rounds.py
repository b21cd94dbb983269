"""Servers that are killed at random moments while turns run on them, and what becomes of the turns.

The model and the tools' effects are outside of the servers, in the process of the test: a model that always answers
the same to the same messages, and counters of what each tool has done. A call that may not be made twice and is in
doubt is decided by looking at its counter, as a person would.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from tests.support.live.caller import Answer, Caller, CutOff, user
from tests.support.live.process import ServerProcess

T = TypeVar("T")

TOOLS = ("look_up", "reserve", "charge")
PIECE_S = 0.004
"""The pause between two pieces of the model's answer."""
RETRY_S = 0.05
DOUBT_S = 4.0
"""A turn that has not ended this long after the last kill is looked at for calls in doubt."""
STUCK_S = 90.0
IN_A_ROW = 3
"""Kills that may hit one step of a turn: it survives as many."""


class World:
    """The model, and what the tools have done: how often each was called, by (tool, key)."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._reached: set[tuple[str, int]] = set()
        self._has_moved = threading.Condition(self._lock)

    def effect(self, tool: str, order: str, key: str) -> str:
        """Do what a tool does, and count it."""
        with self._lock:
            self.calls[tool, key] += 1
        return f"{tool} of {order}"

    def wait_for_progress(self, clients: int, within_s: float) -> None:
        """Wait until the orders of each client have come to two more inferences, repeats aside, or the time is over."""
        with self._has_moved:
            goal = {str(client): self._progress()[str(client)] + 2 for client in range(clients)}
            self._has_moved.wait_for(lambda: self._progress() >= Counter(goal), within_s)

    def _progress(self) -> Counter[str]:
        """How many inferences each client's orders have come to."""
        return Counter(order.partition("-")[0] for order, _ in self._reached)

    def was_made(self, key: str) -> bool:
        with self._lock:
            return any(made == key for _, made in self.calls)

    def answer(self, messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the choices of the model's answer to these messages."""
        last = max(index for index, message in enumerate(messages) if message["role"] == "user")
        order = str(messages[last]["content"]).rpartition(" ")[2]
        done = sum(message["role"] == "tool" for message in messages[last:])
        names = {0: ["look_up", "reserve"], 2: ["charge"]}.get(done, [])
        with self._has_moved:
            self._reached.add((order, done))
            self._has_moved.notify_all()
        for piece in (f"Order {order}, step {done}: " + "so it is " * 12).split(" "):
            yield {"delta": {"content": f"{piece} "}, "finish_reason": None}
            time.sleep(PIECE_S)
        for index, name in enumerate(names):
            function = {"name": name, "arguments": json.dumps({"order": order})}
            call = {"index": index, "id": f"call_{done}_{index}", "type": "function", "function": function}
            yield {"delta": {"tool_calls": [call]}, "finish_reason": None}
        yield {"delta": {}, "finish_reason": "tool_calls" if names else "stop"}


def _handler(world: World) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

        def do_GET(self) -> None:
            self._send("application/json", b'{"object":"list","data":[{"id":"orders","object":"model","created":0}]}')

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(raw)
            if "messages" not in body:
                self._send("application/json", json.dumps({"said": world.effect(**body)}).encode())
                return
            self._send("text/event-stream", b"")
            with suppress(OSError):  # the server was killed
                for choice in world.answer(body["messages"]):
                    chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
                    self.wfile.write(b"data: %b\n\n" % json.dumps(chunk).encode())
                    self.wfile.flush()
                self.wfile.write(b"data: [DONE]\n\n")

        def _send(self, kind: str, body: bytes) -> None:
            with suppress(OSError):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

    return Handler


@contextmanager
def world_served() -> Iterator[tuple[World, dict[str, str]]]:
    """The world, and what a server's environment says of it."""
    world = World()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(world))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="world", daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    functions = [f"tests.support.live.counting_tools:{name}" for name in TOOLS]
    environment = {
        "MODEL_ENDPOINTS": json.dumps({"world": {"base_url": f"{url}/v1"}}),
        "DEFAULT_ENDPOINT": "scripted",
        "TOOL_FUNCTIONS": json.dumps({"orders": functions}),
        "COUNTING_URL": f"{url}/effects",
        "SECRET_KEY": "of all of them " * 4,
        "LEASE_SECONDS": "5",
    }
    try:
        yield world, environment
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Tally:
    """What became of all turns. ``acknowledged`` are the requests that were answered, ``ended`` the turns that ended,
    ``decided`` the calls that somebody had to decide on, ``cut`` the inferences that were asked again; ``different``
    are the turns whose end is not that of a turn that was never killed, ``doubled`` the effects that must not be."""

    kills: int = 0
    acknowledged: int = 0
    ended: int = 0
    decided: int = 0
    cut: int = 0
    lost: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)


class Servers:
    """The servers, of which some may just be down."""

    def __init__(self, servers: Sequence[ServerProcess], choose: random.Random) -> None:
        self.all, self._choose = list(servers), choose
        self.killed_at = time.monotonic()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Ask any of them, again and again while none can answer."""

        def ask(caller: Caller) -> Answer | None:
            answer = caller.ask(method, path, body, headers)
            return None if answer.status in (502, 503, 429) else answer

        return self._any(ask, f"{method} {path}")

    def begin(self, path: str, body: Any, **headers: str) -> str:
        """Begin a streamed turn at any of them; returns its id as soon as it is told."""

        def begin(caller: Caller) -> str | None:
            with caller.stream(path, body, headers) as stream:
                first = next(iter(stream), None) if stream.status == 200 else None
            return str(first.payload["turn_id"]) if first else None

        return self._any(begin, path)

    def _any(self, ask: Callable[[Caller], T | None], what: str) -> T:
        until = time.monotonic() + STUCK_S
        while True:
            server = self._choose.choice(self.all)
            try:
                answer = ask(Caller(server.port))
                if answer is not None:
                    return answer
            except (OSError, http.client.HTTPException, CutOff):
                pass  # it is down, or was killed just now
            assert time.monotonic() < until, f"nobody answers {what}"
            time.sleep(RETRY_S)

    def kill_one(self) -> None:
        """Kill one of them, and start it again."""
        server = self._choose.choice(self.all)
        server.kill()
        self.killed_at = time.monotonic()
        server.start(server.port)


class Orders(threading.Thread):
    """A client that has one order after the other done, until it is told to stop."""

    def __init__(self, number: int, servers: Servers, world: World, agent: str) -> None:
        super().__init__(name=f"client {number}")
        self.number, self.servers, self.world, self.agent = number, servers, world, agent
        self.tally, self.ends = Tally(), threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        count = 0
        try:
            while not self.ends.is_set():
                count += 1
                self._order(f"{self.number}-{count}", count % 2)
        except BaseException as error:  # noqa: BLE001 - told by whoever waits for the thread
            self.error = error

    def _order(self, order: str, api: int) -> None:
        turn = self._by_agent(order) if api else self._by_responses(order)
        if turn is None:
            return
        row = self._end_of(turn, order)
        if row is None:
            return
        self.tally.ended += 1
        self._compare(turn, order, row)

    def _by_agent(self, order: str) -> str | None:
        """A turn whose tools the server runs."""
        path = f"/v1/agents/{self.agent}/session"
        session = self.servers.ask("POST", path, {"session_name": order}).json["session_id"]
        body = {"messages": [user(f"Do order {order}")], "stream": True}
        turn = self.servers.begin(f"{path}/{session}/turn", body, **{"Idempotency-Key": f"turn {order}"})
        self.tally.acknowledged += 1
        return turn if self._end_of(turn, order) else None

    def _by_responses(self, order: str) -> str | None:
        """A turn whose tools the client runs: each answer of them is a request of its own."""
        tools = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in TOOLS]
        body: dict[str, Any] = {"model": "world/orders", "background": True, "tools": tools}
        asked: dict[str, Any] = {"input": f"Do order {order}"}
        for number in range(3):
            key = {"Idempotency-Key": f"response {order} {number}"}
            answer = self.servers.ask("POST", "/v1/responses", {**body, **asked}, **key)
            assert answer.status == 200, answer.body
            self.tally.acknowledged += 1
            name = answer.json["id"]
            turn = self._turn_of(f"response:{name}", order)
            if turn is None or self._end_of(turn, order) is None:
                return None
            output = self.servers.ask("GET", f"/v1/responses/{name}").json["output"]
            calls = [item for item in output if item["type"] == "function_call"]
            answers = [
                {
                    "type": "function_call_output",
                    "call_id": call["call_id"],
                    "output": self.world.effect(call["name"], order, f"{order} {call['call_id']}"),
                }
                for call in calls
            ]
            asked = {"input": answers, "previous_response_id": name}
            if not calls:
                break
        return turn

    def _turn_of(self, query: str, order: str) -> str | None:
        found = self.servers.ask("GET", f"/v1/logs/turns?q={query}").json["data"]
        if not found:
            self.tally.lost.append(order)
        return str(found[0]["id"]) if found else None

    def _end_of(self, turn: str, order: str) -> Any:
        """The row of the turn once it runs no more; None if it is stuck, or gone."""
        began = time.monotonic()
        while True:
            rows = self.servers.ask("GET", f"/v1/logs/turns?q=id:{turn}").json["data"]
            if not rows:
                self.tally.lost.append(order)
                return None
            if rows[0]["status"] not in ("queued", "in_progress"):
                return rows[0]
            if time.monotonic() - max(began, self.servers.killed_at) > DOUBT_S:
                self._decide(turn)
            if time.monotonic() - max(began, self.servers.killed_at) > STUCK_S:
                self.tally.stuck.append(order)
                return None
            time.sleep(RETRY_S)

    def _decide(self, turn: str) -> None:
        """Decide on calls in doubt as a person would: by looking whether they were made."""
        query = f"turn:{turn}%20status:in_progress%20type:tool"
        for step in self.servers.ask("GET", f"/v1/logs/steps?q={query}").json["data"]:
            made = self.world.was_made(step["id"])
            body = {"outcome": "result", "content": f"charge of {turn}"} if made else {"outcome": "not_done"}
            path = f"/v1/logs/turns/{turn}/steps/{step['id']}/decision"
            if self.servers.ask("POST", path, body).status == 204:
                self.tally.decided += 1

    def _compare(self, turn: str, order: str, row: Any) -> None:
        steps = self.servers.ask("GET", f"/v1/logs/steps?q=turn:{turn}&order=asc&limit=100").json["data"]
        seen = Counter((step["type"], step["name"], step["status"]) for step in steps)
        self.tally.cut += seen.pop(("inference", "world/orders", "interrupted"), 0)
        if row["status"] != "completed" or seen != STEPS:
            self.tally.different.append(f"{order}: {row['status']} {dict(seen)}")


STEPS = Counter(
    {
        ("inference", "world/orders", "completed"): 3,
        **{("tool_execution", name, "completed"): 1 for name in TOOLS},
    }
)
"""The steps of an order during which no server was killed: whoever runs the tools."""


def run_rounds(servers: Servers, world: World, rounds: int, *, clients: int, choose: random.Random) -> Tally:
    """Kill one of the servers ``rounds`` times while clients have their orders done; return what became of them."""
    config = {"model": "world/orders", "instructions": "Do the order.", "toolgroups": ["orders"]}
    body = {"agent_config": {**config, "enable_session_persistence": True}}
    agent = servers.ask("POST", "/v1/agents", body).json["agent_id"]
    everyone = [Orders(number, servers, world, agent) for number in range(clients)]
    for client in everyone:
        client.start()
    for number in range(rounds):
        if number % IN_A_ROW == 0:
            # a turn that loses its process again and again without finishing a step is set aside, which is right, and
            # not what these rounds are about; where something is stuck its client will say so
            world.wait_for_progress(clients, STUCK_S)
            assert not any(client.error for client in everyone), [client.error for client in everyone]
        time.sleep(choose.random() * 1.5)
        servers.kill_one()
    for client in everyone:
        client.ends.set()
    for client in everyone:
        client.join(2 * STUCK_S)
        assert client.error is None, client.error
    total = Tally(kills=rounds)
    for client in everyone:
        for name, value in vars(client.tally).items():
            if name != "kills":
                setattr(total, name, getattr(total, name) + value)
    total.doubled = [f"{tool} {key}" for (tool, key), times in world.calls.items() if tool == "charge" and times > 1]
    return total
