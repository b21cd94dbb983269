"""What people come for each day, with the clicks that it takes: none fails, and none takes more than it did.

``pytest -s`` prints them as a table with their times. A key, a word that is typed and a row that is dragged count as
a click.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_accessibility import DESK
from tests.support.live.caller import Caller, Talk, script, tool
from tests.support.live.held_model import HeldModel

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]


class Hand:
    """A reader's hand on a page: it counts what it does."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks, self.began = page, 0, time.monotonic()

    def click(self, part: Locator) -> None:
        part.click()
        self.clicks += 1

    def fill(self, part: Locator, text: str) -> None:
        part.fill(text)
        self.clicks += 1

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.clicks += 1

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
        self.clicks += 1

    @property
    def rows(self) -> Locator:
        return self.page.locator("[data-rows] tr")

    def facet(self, name: str, value: str) -> Locator:
        return self.page.locator(f"#facet-{name}").get_by_role("link", name=value, exact=True)

    def nav(self, name: str) -> Locator:
        return self.page.get_by_role("navigation", name="Main").get_by_role("link", name=name)


@pytest.fixture
def hand(open_page: Open) -> Iterator[Callable[[str, str, int], Hand]]:
    """Begins a task on a page: its name and the most clicks that it may take."""
    tasks: list[tuple[str, int, Hand]] = []

    def begin(task: str, path: str, most: int, **options: object) -> Hand:
        page = open_page(path, **{**DESK, **options})
        page.wait_for_load_state("networkidle")
        tasks.append((task, most, Hand(page)))
        return tasks[-1][2]

    yield begin
    for task, most, own in tasks:
        sys.stdout.write(f"\n| {task} | {own.clicks} | {time.monotonic() - own.began:.1f} s |")
        assert own.clicks <= most, task


Begin = Callable[..., Hand]


@pytest.fixture
def failures(caller: Caller) -> str:
    """A tool of which two calls failed."""
    talk = Talk(caller, toolgroups=["builtin::code_interpreter"])
    for fruit in ("quince", "medlar"):
        talk.say(script(f'call no_such_tool {{"fruit": "{fruit}"}}', "then", f"say The {fruit} is ripe."))
    return "no_such_tool"


def test_failed_calls_of_one_tool_in_a_day(hand: Begin, failures: str) -> None:
    do = hand("failed calls of one tool, last 24 hours", "/", 6)
    do.click(do.nav("Logs"))
    do.click(do.page.get_by_role("navigation", name="Lists").get_by_role("link", name="Steps"))
    do.click(do.facet("status", "failed"))
    do.click(do.facet("tool", failures))
    do.click(do.page.locator(".time-menu summary"))
    do.click(do.page.locator(".time-menu").get_by_role("link", name="last 24 hours"))
    expect(do.rows.first).to_contain_text(failures)
    assert "started%3A-24h" in do.page.url


def test_where_a_user_mentioned_something(hand: Begin, failures: str) -> None:
    do = hand("where did somebody mention X", "/logs/", 3)
    do.press("/")
    do.type("medlar")
    do.press("Enter")
    expect(do.rows.first.locator("mark").first).to_have_text("medlar")


def outlier(do: Hand, heading: str) -> Locator:
    """The first of the most expensive, or slowest, turns of the overview."""
    return do.page.locator("section", has=do.page.get_by_role("heading", name=heading)).get_by_role("link").first


def test_why_a_turn_was_so_dear(hand: Begin) -> None:
    do = hand("why was this turn so dear", "/?period=30d", 2)
    do.click(outlier(do, "Most expensive turns"))
    shares = do.page.locator(".shares", has_text="Where the cost went")
    expect(shares).to_contain_text("$")
    do.click(shares.get_by_role("link").first)
    expect(do.page.locator("[data-step]:target")).to_be_in_viewport()


def test_why_a_turn_was_so_slow(hand: Begin) -> None:
    do = hand("why was this turn so slow", "/?period=30d", 2)
    do.click(outlier(do, "Slowest turns"))
    do.click(do.page.get_by_role("link", name="Timeline"))
    expect(do.page.get_by_role("treeitem", name=re.compile("the slowest step"))).to_be_visible()


def test_what_changed_between_two_runs(hand: Begin, failures: str) -> None:
    do = hand("what changed between two runs", "/logs/?q=tool:no_such_tool", 3)
    for number in (0, 1):
        do.click(do.rows.nth(number).locator(".pick input"))
    do.click(do.page.get_by_role("button", name="Compare"))
    expect(do.page.locator(".compare-sum")).to_contain_text("changed")


def test_a_running_turn_is_watched_and_cancelled(hand: Begin, caller: Caller, held: HeldModel) -> None:
    question = held.hold()
    do = hand("watch a turn live, and cancel it", "/logs/", 1)
    turn = Talk(caller, model="held/held").begin(question.question)
    question.say("Half a sentence")
    row = do.page.locator(f"[data-id='{turn}']")
    expect(row).to_contain_text("Half a sentence")
    do.click(row.locator(".row-cancel"))
    expect(row).to_contain_text("cancelled")


def test_a_refund_is_approved(hand: Begin, caller: Caller) -> None:
    talk = Talk(caller, client_tools=[tool("approve_refund", "order")])
    turn = talk.say(script('call approve_refund {"order": "7"}', "then", "say Thank you.")).json["turn_id"]
    do = hand("approve a refund", "/", 2)
    do.click(do.nav("Waiting"))
    do.click(do.page.locator(f"[data-waits='{turn}']").get_by_role("button", name="Approve"))
    expect(do.page.locator(f"[data-waits='{turn}']")).to_have_count(0)


def test_a_turn_is_forked_with_another_model_and_compared(hand: Begin, caller: Caller) -> None:
    turn = Talk(caller, model="scripted/demo").say("Hello").json["turn_id"]
    do = hand("fork with another model, compare", f"/turns/{turn}/", 4)
    do.click(do.page.get_by_role("link", name="Fork", exact=True).first)
    do.fill(do.page.get_by_label("Model"), "scripted/fast")
    do.click(do.page.get_by_role("button", name="Fork and run"))
    expect(do.page.locator("[data-turn-status=completed]")).to_be_visible()
    do.click(do.page.get_by_role("link", name="Compare with it"))
    expect(do.page.locator(".compare-sum")).to_be_visible()


def test_failures_become_a_file(hand: Begin, failures: str) -> None:
    do = hand("failures as CSV", "/logs/", 3, accept_downloads=True)
    do.click(do.facet("status", "failed"))
    do.click(do.page.locator(".export summary"))
    with do.page.expect_download() as file:
        do.click(do.page.get_by_role("link", name="CSV", exact=True))
    assert file.value.suggested_filename.endswith(".csv")


def test_a_link_to_a_filtered_list(hand: Begin) -> None:
    do = hand("share a filtered list", "/logs/?q=started:-24h", 1)
    do.click(do.page.get_by_role("link", name="Link with fixed times"))
    assert "started%3A" in do.page.url
    assert "-24h" not in do.page.url
    expect(do.rows.first).to_be_visible()


def test_a_query_by_mouse_alone(hand: Begin) -> None:
    do = hand("a query by mouse: a value, another excluded, a bound", "/logs/", 5)
    do.click(do.facet("status", "completed"))
    do.page.locator("#facet-agent .facet-value").first.hover()
    do.click(do.page.locator("#facet-agent .facet-less").first)
    do.fill(do.page.locator("#duration-from"), "1ms")
    do.click(do.page.get_by_role("button", name="Show: Duration"))
    assert "duration%3A%3E%3D1ms" in do.page.url
    expect(do.rows.first).to_be_visible()


@pytest.mark.parametrize(
    ("typed", "offered"), [("cost:", "cost:>0.01"), ("duration:", "duration:>1s"), ("args.", "args."), ("", "")]
)
def test_the_bar_completes(hand: Begin, typed: str, offered: str) -> None:
    do = hand(f"completion of “{typed}”", "/steps/?q=type:tool", 4)
    bar = do.page.get_by_role("combobox", name="Query")
    do.fill(bar, "")
    do.click(bar)
    do.type(typed)
    option = do.page.get_by_role("option").filter(has_text=offered).first
    expect(option).to_be_visible()
    do.click(option)


def test_a_turn_is_read_by_keys_alone(hand: Begin) -> None:
    do = hand("read the next turns by keys alone", "/logs/", 4)
    do.press("j", "Enter")
    panel = do.page.get_by_role("complementary", name="Selected turn")
    expect(panel.locator(".step").first).to_be_visible()
    do.press("j")
    expect(do.page.locator("tr[aria-selected=true]")).to_have_count(1)
    do.press("o")
    expect(do.page).to_have_url(re.compile("/turns/"))


def test_a_page_of_turns_is_tagged(hand: Begin) -> None:
    do = hand("tag all turns of a page", "/logs/", 3)
    do.page.locator("thead .pick").hover()
    do.click(do.page.get_by_label("Select all rows of this page"))
    bar = do.page.get_by_role("form", name="Selected rows")
    do.fill(bar.get_by_label("Tag", exact=True), "seen-today")
    do.click(bar.get_by_role("button", name="Tag", exact=True))
    expect(do.page.locator(".row-tags", has_text="seen-today").first).to_be_visible()


def test_an_agent_with_tools_is_made(hand: Begin) -> None:
    do = hand("make an agent with tools", "/agents/", 5)
    do.click(do.page.get_by_role("link", name="New agent"))
    do.fill(do.page.get_by_label("Name").first, "weather reporter")
    do.fill(do.page.get_by_label("Instructions"), "Say what the weather is.")
    do.click(do.page.get_by_role("checkbox", name="builtin::demo", exact=True))
    do.click(do.page.get_by_role("button", name="Create agent"))
    expect(do.page.get_by_role("heading", level=1)).to_contain_text("weather reporter")


def test_a_key_is_revoked(hand: Begin, open_page: Open) -> None:
    page = open_page("/keys/")
    page.get_by_label("Name").fill("to be revoked")
    page.get_by_role("button", name="Create key").click()
    do = hand("revoke a key", "/keys/", 2)
    row = do.page.locator("tr", has_text="to be revoked")
    do.click(row.locator("summary", has_text="Revoke"))
    do.click(do.page.get_by_role("button", name="Revoke “to be revoked”"))
    expect(do.page.locator("tr", has_text="to be revoked")).to_contain_text("revoked")


@pytest.mark.parametrize(
    ("task", "lists", "heading"),
    [
        ("cost per agent per day", "Turns", "Grouped by Agent · Day"),
        ("p95 per tool", "Steps", "Grouped by Tool"),
        ("failures per message", "Failed", "Grouped by Error message"),
    ],
)
def test_numbers_by_group_with_their_file(hand: Begin, failures: str, task: str, lists: str, heading: str) -> None:
    """From the lists; each is the sum of its rows, and the file says the same."""
    path = "/logs/" if lists != "Steps" else "/steps/"
    do = hand(task, path, 3, accept_downloads=True)
    if lists == "Failed":
        do.click(do.facet("status", "failed"))
    do.click(do.page.get_by_role("link", name="Group by"))
    expect(do.page.get_by_role("heading", level=1)).to_have_text(heading)
    counts = do.page.locator(".groups-rows tbody tr td:nth-of-type(1)").all_inner_texts()
    total = do.page.locator(".groups-rows tfoot td").first.inner_text()
    assert sum(int(count.replace(",", "")) for count in counts) == int(total.replace(",", "")) > 0
    with do.page.expect_download() as file:
        do.click(do.page.get_by_role("link", name="CSV", exact=True))
    rows = list(csv.DictReader(io.StringIO(file.value.path().read_text())))
    assert sorted(row["count"] for row in rows) == sorted(count.replace(",", "") for count in counts)
