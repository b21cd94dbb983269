"""Texts that have run as scripts somewhere, in a browser: nothing runs, nothing leaves the server, with the
Content-Security-Policy and without; on pages that are loaded and on those that are written to while open.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_live_pages import is_over
from tests.support.depth import deep
from tests.support.live.caller import Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, first_data, running
from tests.support.pages.script_payloads import PAYLOADS, mixed

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(3600)]

Open = Callable[..., Page]
PER_TURN = 12
TEXTS = [*PAYLOADS[:: deep(24, 1)], *map(mixed, [random.Random(7)] * deep(3, 200))]
FILL = """
import json, sys
from agents.base.store import keys
from tests.pages.test_hostile_text import store
rows = store(keys.local(), json.loads({texts!r}))
print(json.dumps([*rows.agents, *rows.sessions, *rows.turns]))
"""
LISTS = (
    "/logs/",
    "/logs/?q=status:failed",
    "/sessions/",
    "/steps/",
    "/responses/",
    "/logs/numbers/",
    "/agents/",
    "/inbox/",
    "/keys/",
)
ROUSE = """
() => {
  const wrong = [];
  for (const one of document.querySelectorAll('*')) {
    for (const {name, value} of one.attributes) {
      const link = ['href', 'src', 'action', 'formaction', 'data', 'xlink:href', 'poster'].includes(name);
      if (name.startsWith('on') || name === 'srcdoc' || link && /^\\s*(javascript|vbscript|data:text)/i.test(value))
        wrong.push(`${one.tagName} ${name}=${value.slice(0, 80)}`);
    }
    for (const kind of ['error', 'load', 'focus', 'mouseover', 'pointerenter', 'animationstart', 'begin'])
      one.dispatchEvent(new Event(kind));
  }
  return [...wrong, ...window.ran];
}
"""
"""What could run on a page, after everything that would make it run; and what ran."""
WATCH = "window.ran = []; for (const one of ['alert', 'prompt', 'print']) window[one] = () => ran.push(one); null"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[ServerProcess]:
    """A server of this module's own: nobody else wants to read what is in its log."""
    with running(tmp_path_factory.mktemp("hostile"), held.environment, data=first_data()) as process:
        yield process


@pytest.fixture(scope="module")
def paths(demo: ServerProcess) -> list[str]:
    """Pages of rows with every text in every field, and lists of them."""
    batches = [TEXTS[start : start + PER_TURN] for start in range(0, len(TEXTS), PER_TURN)]
    found = []
    for batch in batches:
        out = demo.shell(FILL.format(texts=json.dumps(batch)))
        found += json.loads(out.strip().splitlines()[-1])
    views = [f"{path}?view={view}" for path in found[-len(batches) :] for view in ("timeline", "raw")]
    return [*found, *views, *LISTS]


@pytest.mark.parametrize("policy", ["with the policy", "without it"])
def test_no_page_runs_what_somebody_wrote(policy: str, paths: list[str], open_page: Open, demo: ServerProcess) -> None:
    page = open_page("/logs/", bypass_csp=policy == "without it")
    page.add_init_script(WATCH)
    page.context.route("**/favicon.ico", lambda route: route.fulfill(status=204))  # there is none
    bad = {}
    for path in paths:
        answer = page.goto(f"{demo.base}{path}")
        assert answer is not None
        bad[path] = [str(answer.status)] if answer.status != 200 else page.evaluate(ROUSE)
    assert {path: words for path, words in bad.items() if words} == {}


NAMES = [
    "x" * 10_000,
    "meta-llama/Llama-3.3-70B-Instruct",
    "نموذج" * 60,
    "Z\u0301\u0316\u0332" * 300,
    "<b>bold</b>" * 30,
]
TOO_LARGE = """
() => {
  const wrong = [], line = one => parseFloat(getComputedStyle(one).lineHeight);
  const height = one => one.getBoundingClientRect().height, all = names => document.querySelectorAll(names);
  for (const one of all('.speaker, .card-title, .crumbs li, .peek-where bdi, .bar-label, .cut'))
    if (height(one) > Math.max(line(one), 20) * 1.6) wrong.push(`more than a line: ${one.className}`);
  for (const one of all('.card-step > header')) if (height(one) > 120) wrong.push(`a header: ${height(one)}`);
  for (const one of all('html, .peek, .peek-head, .reader, .turn-side, .log-row, .card-step'))
    if (one.scrollWidth > one.clientWidth + 1) wrong.push(`wider than it may be: ${one.className || one.tagName}`);
  return [...new Set(wrong)];
}
"""
"""What a long name has broken."""


@pytest.mark.parametrize("width", [1440, 390])
def test_names_of_any_length_break_no_page(width: int, open_page: Open, demo: ServerProcess) -> None:
    paths = json.loads(demo.shell(FILL.format(texts=json.dumps(NAMES))).strip().splitlines()[-1])
    page = open_page("/logs/?q=status:failed", viewport={"width": width, "height": 900})
    bad = {"rows": page.evaluate(TOO_LARGE)}
    if width > 1100:
        page.locator(".log-row a").first.click()
        expect(page.locator("[data-peek-of]")).to_be_visible()
        bad["panel"] = page.evaluate(TOO_LARGE)
    for path in ("/", "/agents/", *paths[:: len(NAMES)]):  # of the longest name; the last turn has them all
        page.goto(f"{demo.base}{path}")
        bad[path] = page.evaluate(TOO_LARGE)
    assert {path: words for path, words in bad.items() if words} == {}


@pytest.mark.parametrize("policy", ["with the policy", "without it"])
def test_no_open_page_runs_what_a_model_says(policy: str, open_page: Open, caller: Caller, held: HeldModel) -> None:
    lists = []
    for path in ("/logs/", "/sessions/", "/steps/", "/logs/?q=status:completed"):
        page = open_page(path, bypass_csp=policy == "without it")
        page.evaluate(WATCH)
        lists.append(page)
    for text in random.Random(3).sample(TEXTS, deep(2, 20)):
        question = held.hold()
        talk = Talk(caller, model="held/held", name=text[:300])
        turn = talk.begin(question.question)
        page = open_page(f"/turns/{turn}/", bypass_csp=policy == "without it")
        page.evaluate(WATCH)
        for start in range(0, len(text), 7):
            question.say(text[start : start + 7])
        question.say(f"\n\n{text}\n\n<img src=x onerror=alert(1)>\n\n")
        question.end(f"{text} The end.")
        is_over(page)
        expect(page.locator("[data-step]").last).to_contain_text("The end.")
        assert page.evaluate(ROUSE) == []
        page.context.close()
    for page in lists:
        assert page.evaluate(ROUSE) == []
