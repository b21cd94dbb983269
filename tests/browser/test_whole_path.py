"""One piece of work from its beginning to its end, as somebody who looks for a fault does it: find the
failed turns, narrow them, tag them, keep the view, take them away as a file, read one, judge it, fork it,
compare the two. By mouse, by keyboard alone, and without JavaScript."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from tests.browser.test_accessibility import DESK, LOOKS, found
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.process import eventually

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600)]

Open = Callable[..., Page]
TURN = re.compile(r"/turns/[0-9a-f-]{36}/")
MOST_TABS = 120
SURE = re.compile(r"(Tag|Delete|Remove the tag from) [\d,]+ rows?")


def rows(page: Page) -> Locator:
    return page.locator("[data-rows] tr")


def query(page: Page) -> str:
    """What the address asks for."""
    return parse_qs(urlsplit(page.url).query).get("q", [""])[0]


def lines(download: Download, folder: Path) -> list[str]:
    download.save_as(folder / "got")
    return (folder / "got").read_text().splitlines()


@pytest.fixture
def three(caller: Caller, request: pytest.FixtureRequest) -> str:
    """A word that three turns have said: two of a tool, one that failed at once."""
    word = f"quince{abs(hash(request.node.name)) % 10**8}"
    talk = Talk(caller, toolgroups=["builtin::code_interpreter"])
    talk.say(script(f'call no_such_tool {{"fruit": "{word}"}}', "then", f"say The {word} is ripe."))
    talk.say(script(f'call no_such_tool {{"fruit": "{word}"}}', "then", f"say The {word} is green."))
    Talk(caller, model="nothing/like-this").say(f"A {word}, please.")
    return word


# ------------------------------------------------------------------------------------------ by mouse


def test_by_mouse(open_page: Open, three: str, tmp_path: Path) -> None:
    page = open_page("/logs/", accept_downloads=True, **DESK)
    page.get_by_label("Query", exact=True).fill(three)
    page.get_by_role("button", name="Search").click()
    expect(rows(page)).to_have_count(3)
    narrow_by_mouse(page, three)
    mark_by_mouse(page, three, tmp_path)
    fork_by_mouse(page)


def narrow_by_mouse(page: Page, word: str) -> None:
    filters = page.get_by_role("navigation", name="Filters")
    filters.get_by_role("link", name="failed", exact=True).first.click()
    expect(rows(page)).to_have_count(1)
    filters.get_by_role("link", name=re.compile("failed ?: remove")).first.click()
    expect(rows(page)).to_have_count(3)
    filters.get_by_role("link", name="failed", exact=True).first.hover()
    filters.get_by_role("link", name="Exclude failed").first.click()
    expect(rows(page)).to_have_count(2)
    assert query(page) == f"{word} -status:failed"


def mark_by_mouse(page: Page, word: str, folder: Path) -> None:
    boxes = page.locator("[data-rows] .pick input")
    boxes.first.check()
    boxes.last.click(modifiers=["Shift"])
    acts = page.get_by_role("form", name="Selected rows")
    expect(acts).to_contain_text("2 rows selected")
    with page.expect_download() as got:
        acts.get_by_role("button", name="Export").click()
    assert len(list(csv.reader(lines(got.value, folder)))) == 3
    acts.get_by_label("Tag", exact=True).fill(f"seen-{word}")
    acts.get_by_role("button", name="Tag", exact=True).click()
    finish_act(page)
    page.goto(f"{page.url.split('/logs/')[0]}/logs/?q=tag:seen-{word}")
    expect(rows(page)).to_have_count(2)
    page.get_by_text("Views", exact=True).click()
    page.get_by_label("Save this query as").fill(f"view {word}")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".views-menu summary").first).to_contain_text(f"view {word}")
    page.get_by_text("Columns", exact=True).first.click()
    page.get_by_role("group", name="Columns").get_by_label("Model").check()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="Model")).to_be_visible()


def test_a_time_is_chosen_by_mouse(open_page: Open) -> None:
    page = open_page("/logs/?q=started:-30d", **DESK)
    bars = page.locator("[data-histogram] a rect.hit")
    expect(bars.last).to_be_visible()
    title = page.locator("[data-histogram] a title").last.text_content() or ""
    box = bars.last.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 1, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 20, steps=5)
    page.mouse.up()
    page.wait_for_url(re.compile("started%3A"))
    counted = page.locator("[data-part=sums] dd").first
    expect(counted).to_have_attribute("title", re.compile(r"^[1-9]"))
    count = int(counted.get_attribute("title") or 0)
    assert sum(map(int, re.findall(r"\d+", title.split(": ")[-1]))) == count


def finish_act(page: Page) -> None:
    """What is asked for sureness is answered."""
    sure = page.get_by_role("button", name=SURE)
    if sure.count():
        sure.click()


def fork_by_mouse(page: Page) -> None:
    rows(page).first.locator(".col-text a").click()
    page.get_by_role("complementary").get_by_role("link", name="Open", exact=False).first.click()
    expect(page).to_have_url(TURN)
    page.locator(".judged").first.get_by_role("button", name="Bad").click()
    expect(page.locator(".judged").first.locator("[data-thumb=down]").first).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="Fork from step 2").click()
    page.get_by_label("Result of no_such_tool").fill("It is blue.")
    page.get_by_role("button", name="Fork and run").click()
    expect(page.locator("[data-turn-status=completed]")).to_be_visible()
    page.get_by_role("link", name="Compare with it").click()
    expect(page.locator(".compare-sum")).to_contain_text("1 step changed")
    expect(page.locator(".pair[data-kind=changed]")).to_contain_text("It is blue.")
    page.get_by_role("link", name="Only differences").click()
    expect(page.locator(".pair")).to_have_count(1)


# ------------------------------------------------------------------------------------------ by keyboard


def test_by_keyboard_alone(open_page: Open, three: str, tmp_path: Path) -> None:
    page = open_page("/logs/", accept_downloads=True, **DESK)
    keys = page.keyboard
    keys.press("/")
    keys.type(f"{three} status:completed")
    keys.press("Enter")
    page.wait_for_url(re.compile("status"))
    expect(rows(page)).to_have_count(2)
    keys.press("j")
    keys.press("x")
    keys.press("j")
    keys.press("x")
    expect(page.get_by_role("form", name="Selected rows")).to_contain_text("2 rows selected")
    tab_to(page, page.locator("#acts-tag"), back=True)
    keys.type(f"keys-{three}")
    tab_to(page, page.get_by_role("form", name="Selected rows").get_by_role("button", name="Tag", exact=True))
    keys.press("Enter")
    page.wait_for_load_state()
    if page.get_by_role("button", name=SURE).count():
        tab_to(page, page.get_by_role("button", name=SURE))
        keys.press("Enter")
    page.wait_for_url(re.compile("/logs/"))
    read_by_keyboard(page)
    fork_by_keyboard(page)


def read_by_keyboard(page: Page) -> None:
    expect(rows(page)).to_have_count(2)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary")).to_be_visible()
    page.keyboard.press("o")
    page.wait_for_url(TURN)
    page.wait_for_load_state()
    page.keyboard.press("t")
    page.wait_for_url(re.compile("view=timeline"))
    page.keyboard.press("r")
    page.wait_for_url(re.compile("view=reader"))


def fork_by_keyboard(page: Page) -> None:
    tab_to(page, page.get_by_role("link", name="Fork from step 2"))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/fork/"))
    tab_to(page, page.get_by_label("Result of no_such_tool"))
    page.keyboard.press("Control+A")
    page.keyboard.type("It is blue.")
    tab_to(page, page.get_by_role("button", name="Fork and run"))
    page.keyboard.press("Enter")
    expect(page.locator("[data-turn-status=completed]")).to_be_visible()
    tab_to(page, page.get_by_role("link", name="Compare with it"))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/compare/"))
    page.wait_for_load_state()
    page.keyboard.press("n")
    expect(page.locator(".pair:focus")).to_contain_text("It is blue.")


def tab_to(page: Page, place: Locator, back: bool = False) -> None:
    """Go there as the keyboard goes; whoever gets the focus on the way must be seen to have it."""
    expect(place).to_be_visible()
    for _ in range(MOST_TABS):
        if place.evaluate("place => place === document.activeElement"):
            assert page.evaluate(OUTLINED), "the focus is not to be seen"
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{place} is not reached by Tab")


OUTLINED = """() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== "none" || style.boxShadow !== "none";
}"""

# ------------------------------------------------------------------------------------------ without scripts


def test_without_scripts(open_page: Open, three: str, tmp_path: Path) -> None:
    page = open_page("/logs/", accept_downloads=True, java_script_enabled=False, **DESK)
    page.get_by_label("Query", exact=True).fill(f"{three} -status:failed")
    page.get_by_role("button", name="Search").click()
    expect(rows(page)).to_have_count(2)
    page.locator(".export summary").click()
    with page.expect_download() as got:
        page.locator(".export a", has_text="JSONL").click()
    assert {json.loads(line)["status"] for line in lines(got.value, tmp_path)} == {"completed"}
    page.get_by_role("link", name="Select", exact=True).click()
    for box in page.locator("[data-rows] .pick input").all():
        box.check()
    page.get_by_role("form", name="Selected rows").get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Two turns compared")
    page.get_by_role("region", name="A", exact=True).get_by_role("link").click()
    expect(page).to_have_url(TURN)
    fork_without_scripts(page)


def fork_without_scripts(page: Page) -> None:
    page.locator(".judged").first.get_by_label("Comment").fill("Not what was asked.")
    page.locator(".judged").first.get_by_role("button", name="Comment").click()
    expect(page.locator(".judged").first).to_contain_text("Not what was asked.")
    page.get_by_role("link", name="Fork from step 2").click()
    page.get_by_label("Result of no_such_tool").fill("It is blue.")
    page.get_by_role("button", name="Fork and run").click()
    expect(page).to_have_url(re.compile(r"/turns/[0-9a-f-]{36}/$"))  # of the fork, no longer of its form
    eventually(lambda: page.reload() and page.locator("[data-turn-status=completed]").count())
    page.get_by_role("link", name="Compare with it").click()
    expect(page.locator(".compare-sum")).to_contain_text("1 step changed")


# ------------------------------------------------------------------------------------------ for axe


@pytest.mark.parametrize("look", LOOKS)
def test_axe_has_nothing_against_the_pages_on_the_way(
    open_page: Open, caller: Caller, complaints: list[str], three: str, look: str
) -> None:
    page = open_page(f"/logs/?q={three}", **LOOKS[look])
    base = page.url.split("/logs/")[0]
    turns = [row["id"] for row in caller.get(f"/v1/logs/turns?q={three}%20-status:failed").json["data"]]
    bad = []
    for path in on_the_way(three, turns):
        page.goto(base + path)
        bad += [f"{path} {each}" for each in found(page)]
    bad += [f"panel: {each}" for each in panel(page, base, three)] if look != "phone" else []
    assert not bad, "\n".join(bad)
    complaints[:] = [said for said in complaints if "status of 400" not in said]  # what is asked wrongly


def on_the_way(word: str, turns: list[str]) -> list[str]:
    first, second = turns
    return [
        *(f"/logs/?q={word}&select=1", f"/turns/{first}/?q={word}", f"/turns/{first}/?find={word}"),
        *("/turns/compare/", f"/turns/compare/?a={first}&b={second}", f"/turns/compare/?a={first}&b=none"),
        *(f"/turns/{first}/fork/", f"/turns/{first}/fork/?step=1", "/logs/?q=status%3A"),
        *(f"/responses/?q={word}", f"/steps/?q={word}", f"/sessions/?q={word}"),
    ]


def panel(page: Page, base: str, word: str) -> list[str]:
    """The list with a turn beside it, and its sheets open."""
    page.goto(f"{base}/logs/?q={word}")
    page.wait_for_load_state("networkidle")  # the numbers that come late move the rows
    page.locator("[data-rows] .pick input").first.check()
    page.get_by_text("Columns", exact=True).first.click()
    page.get_by_text("Views", exact=True).click()
    rows(page).first.locator(".col-text a").click()
    expect(page.get_by_role("complementary")).to_be_visible()
    return found(page)
