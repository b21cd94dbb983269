"""A Chromium, a server with the demo in its log, and pages that must stay quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Dialog, Page, expect, sync_playwright

from tests.support.live.caller import Caller
from tests.support.live.chromium import Chromium
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, first_data, running

PATIENCE_MS = 15_000

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[ServerProcess]:
    """A server as a newcomer starts it."""
    with running(tmp_path_factory.mktemp("demo"), held.environment, demo=True, data=first_data()) as process:
        yield process


@pytest.fixture
def caller(demo: ServerProcess) -> Caller:
    return Caller(demo.port)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    with sync_playwright() as playwright:
        browser = Chromium(playwright.chromium)
        yield browser
        browser.end()


@pytest.fixture
def complaints() -> list[str]:
    """What the open pages complained of: errors and warnings of the console (the browser reports
    breaches of the Content-Security-Policy there), dialogs, requests to other hosts. A test that
    makes trouble takes its own away."""
    return []


@pytest.fixture
def open_page(chromium: Chromium, demo: ServerProcess, complaints: list[str]) -> Iterator[Callable[..., Page]]:
    """Opens pages, each as another reader, that must stay quiet. Options are those of a context."""
    contexts: list[BrowserContext] = []
    ours = (f"{demo.base}/", demo.socket_url, "data:")

    def check(url: str) -> None:
        if not url.startswith(ours):
            complaints.append(f"a request to {url}")

    def hear(kind: str, text: str) -> None:
        # whoever leaves a page at once has not waited for its socket
        if kind in {"error", "warning"} and "closed before the connection is established" not in text:
            complaints.append(text)

    def refuse(dialog: Dialog) -> None:
        complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def listen(page: Page) -> None:
        page.on("console", lambda said: hear(said.type, said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", refuse)
        page.on("request", lambda request: check(request.url))
        page.on("websocket", lambda socket: check(socket.url))

    def opened(path: str, **options: object) -> Page:
        context = chromium.open(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        listen(page)
        page.goto(f"{demo.base}{path}")
        return page

    yield opened
    for context in contexts:
        chromium.close(context)
    assert complaints == []
