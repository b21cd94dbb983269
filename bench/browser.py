"""A real Chromium, and what a reader of pages waits for in it, by the browser's own clock."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from playwright.async_api import Browser, Error, Page, ViewportSize, async_playwright

from bench.faults import Broken

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WINDOW: ViewportSize = {"width": 1440, "height": 900}
PATIENCE_S = 60.0
_PAINTED = """() => new Promise((resolve) => new PerformanceObserver((list) => {
  const [paint] = list.getEntriesByName("first-contentful-paint");
  const [page] = performance.getEntriesByType("navigation");
  if (paint) resolve([paint.startTime, page.responseStart - page.requestStart]);
}).observe({ type: "paint", buffered: true }))"""
_AWAIT = """(selector) => {
  performance.clearResourceTimings();
  window.seen = new Promise((resolve) => {
    let pressedAt;
    addEventListener("keydown", (event) => { pressedAt = event.timeStamp; }, { capture: true, once: true });
    // looks in each frame; what it finds is on the screen once the frame is drawn, when the timer runs
    const look = () => pressedAt !== undefined && document.querySelector(selector)
      ? setTimeout(() => resolve(performance.now() - pressedAt))
      : requestAnimationFrame(look);
    look();
  });
}"""
_SEEN = """async (path) => {
  const milliseconds = await window.seen;
  const asked = performance.getEntriesByType("resource").filter(({ name }) => name.includes(path)).pop();
  return [milliseconds, asked ? asked.responseStart - asked.requestStart : -1];
}"""


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds until something is seen, and those of them in which the server had the request: until the first byte
    of its answer."""

    seen_s: float
    server_s: float


class Reader:
    """One open page. What it does raises Broken when the page complains or does not come to it."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self._base = page, base
        self._errors: list[str] = []
        page.on("pageerror", lambda error: self._errors.append(str(error)))

    async def visit(self, path: str) -> Wait:
        """Go to a page; how long from there to its first contentful paint."""
        answer = await self.page.goto(f"{self._base}{path}")
        if answer is None or not answer.ok:
            raise Broken(f"{path}: {answer and answer.status}")
        seen_ms, server_ms = await asyncio.wait_for(self.page.evaluate(_PAINTED), PATIENCE_S)
        self._quiet(path)
        return Wait(seen_ms / 1000, server_ms / 1000)

    async def press(self, key: str, selector: str, path: str) -> Wait:
        """Press a key; how long until something that the selector finds is on the screen, for which the page asks
        the server by a URL with ``path`` in it."""
        await self.page.evaluate(_AWAIT, selector)
        await self.page.keyboard.press(key)
        seen_ms, server_ms = await asyncio.wait_for(self.page.evaluate(_SEEN, path), PATIENCE_S)
        if server_ms < 0:
            raise Broken(f"{key}: nothing was asked of {path}")
        self._quiet(key)
        return Wait(seen_ms / 1000, server_ms / 1000)

    async def count(self, selector: str) -> int:
        return await self.page.locator(selector).count()

    async def values(self, selector: str, name: str) -> list[str]:
        """An attribute of all that the selector finds."""
        parts = await self.page.locator(selector).all()
        return [await part.get_attribute(name) or "" for part in parts]

    async def gone(self, selector: str) -> None:
        """Wait until the selector finds nothing."""
        await self.page.locator(selector).first.wait_for(state="detached")

    def _quiet(self, doing: str) -> None:
        if self._errors:
            raise Broken(f"{doing}: the page says {self._errors[0][:160]}")


def chromium() -> str:
    """The file of this machine's Chromium. Raises Broken where there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise Broken(f"no Chromium on this machine: {', '.join(NAMES)} are not in the PATH")
    return path


@asynccontextmanager
async def reader(base: str) -> AsyncIterator[Reader]:
    """A page of a Chromium of its own, for as long as the block lasts. Raises Broken where there is none, and where
    the browser fails."""
    path = chromium()
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
            try:
                yield Reader(await _page(browser), base)
            finally:
                await browser.close()
    except Error as error:
        raise Broken(f"the browser says {error.message[:300]}") from error


async def _page(browser: Browser) -> Page:
    context = await browser.new_context(viewport=WINDOW, timezone_id="UTC")
    context.set_default_timeout(PATIENCE_S * 1000)
    return await context.new_page()
