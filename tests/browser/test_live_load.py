"""Open lists while two hundred events a second come in from several agents, with the connection lost in the
middle: what matches is there once, in its place, or waits behind the pill; what does not is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.support.live.caller import Caller, Talk, script

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(600)]

Open = Callable[..., Page]
TURNS, PER_S = 240, 25
"""A turn that calls a tool is eight events."""
SETTLED_MS = 30_000
WATCH = """
window.sockets = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) { super(...given); sockets.push(this); }
};
addEventListener("DOMContentLoaded", () => {
  const body = document.querySelector("[data-rows]");
  window.faults = [];
  new MutationObserver(() => {
    const ids = [...body.rows].map((row) => row.dataset.id);
    if (new Set(ids).size !== ids.length) faults.push("a row twice");
    if (ids.some((id, place) => place && ids[place - 1] < id)) faults.push("out of order");
  }).observe(body, { childList: true });
});
"""
ROWS = "[...document.querySelectorAll('[data-rows] tr')].map((row) => row.dataset.id)"


class Watched:
    """A list that is open, and looked at after each change of its rows."""

    def __init__(self, open_page: Open, path: str, q: str, **options: object) -> None:
        self.level, self.q = {"/logs/": "turns"}.get(path, path.strip("/")), q
        self.page = open_page(f"{path}?q={quote(q)}", **options)
        self.page.add_init_script(WATCH)
        self.page.reload()
        self.is_live()

    def is_live(self) -> None:
        expect(self.page.locator("[data-live][data-state=live]")).to_be_visible()

    def lose_connection(self) -> None:
        assert self.page.evaluate("sockets.length && (sockets.at(-1).close(), true)")

    @property
    def rows(self) -> list[str]:
        found: list[str] = self.page.evaluate(ROWS)
        return found

    def stored(self, caller: Caller) -> list[str]:
        answer = caller.get(f"/v1/logs/{self.level}?limit=1000&q={quote(self.q)}")
        return [row["id"] for row in answer.json["data"]]

    def is_as_stored(self, caller: Caller) -> list[str]:
        """Its rows are those of the store, and always were each in its place once; returns them."""
        expected = self.stored(caller)
        expect(self.page.locator("[data-rows] tr")).to_have_count(len(expected), timeout=SETTLED_MS)
        assert self.rows == expected
        expect(self.page.locator("[data-rows] tr[data-status=in_progress]")).to_have_count(0)
        assert self.page.evaluate("faults") == []
        assert self.page.evaluate("sockets.length") > 1, "the connection was never lost"
        return expected


def tool_turn(number: int) -> str:
    """The message of a turn; every other one is searched for."""
    word = "picked" if number % 2 else "left"
    return script('call get_weather {"city": "Oslo"}', "then", f"say {word} {number}")


class Load:
    """Turns of three agents, each in several sessions, so many a second."""

    def __init__(self, caller: Caller) -> None:
        self.agents = [Talk(caller, toolgroups=["builtin::demo"]) for _ in range(3)]
        self.talks = [talk for agent in self.agents for talk in (agent, *(agent.aside() for _ in range(7)))]

    def run(self, turns: int, meanwhile: Callable[[], None]) -> dict[int, tuple[str, str]]:
        """By number: the agent and the turn. Half way through ``meanwhile`` is done."""
        began = time.monotonic()

        def say(number: int) -> tuple[int, tuple[str, str]]:
            talk = self.talks[number % len(self.talks)]
            time.sleep(max(0.0, began + number / PER_S - time.monotonic()))
            return number, (talk.agent, talk.say(tool_turn(number)).json["turn_id"])

        with ThreadPoolExecutor(8) as pool:
            said = [pool.submit(say, number) for number in range(turns)]
            said[turns // 2].result()
            meanwhile()
            return dict(one.result() for one in said)


def test_lists_under_load_have_each_row_once(open_page: Open, caller: Caller) -> None:
    load = Load(caller)
    first, second, _ = (talk.agent for talk in load.agents)
    q = f"agent:({first} OR {second}) in:picked"
    before = load.run(48, lambda: None)
    top, steps = Watched(open_page, "/logs/", q), Watched(open_page, "/steps/", f"agent:{first} type:tool")
    sessions = Watched(open_page, "/sessions/", f"agent:({first} OR {second}) count(turn: in:picked)>1")
    read = Watched(open_page, "/logs/", q, viewport={"width": 1280, "height": 300})
    read.page.evaluate("document.querySelector('[data-rows]').rows[9].scrollIntoView()")
    there = read.rows
    lists = (top, steps, sessions, read)

    def lose_connections() -> None:
        for each in lists:
            each.lose_connection()

    said = before | {1000 + number: turn for number, turn in load.run(TURNS, lose_connections).items()}
    for each in lists:
        each.is_live()
    matching = {turn for number, (agent, turn) in said.items() if agent in (first, second) and number % 2}
    assert set(top.is_as_stored(caller)) == matching
    assert steps.is_as_stored(caller)
    assert len(sessions.is_as_stored(caller)) == 8

    pill = read.page.locator("[data-arrivals]")
    expect(pill.locator("[data-arrivals-count]")).to_have_text(str(len(matching) - len(there)), timeout=SETTLED_MS)
    assert read.rows == there
    pill.click()
    read.is_as_stored(caller)
