"""A Chromium for many tests, begun anew when it hangs."""

from __future__ import annotations

import os
import shutil
import signal
import threading

from playwright.sync_api import Browser, BrowserContext, BrowserType, Error

from bench.browser import ARGUMENTS, NAMES

CLOSES_WITHIN_S = 60.0


class Chromium:
    """A Chromium now and then never closes a context whose page is just on its way to another one. It is then
    killed, and the next context is opened in a new one."""

    def __init__(self, kind: BrowserType, closes_within_s: float = CLOSES_WITHIN_S) -> None:
        path = next(filter(None, map(shutil.which, NAMES)), None)
        assert path, "no Chromium on this machine"
        self._kind, self._path, self.closes_within_s = kind, path, closes_within_s
        self._browser: Browser | None = None
        self.pid = 0

    def open(self, **options: object) -> BrowserContext:
        """A context of its own, with the options of `new_context`."""
        if self._browser is None or not self._browser.is_connected():
            self._browser = self._kind.launch(executable_path=self._path, headless=True, args=ARGUMENTS)
            self.pid = _process(self._browser)
        # its parameters have a type each, which a test that passes them on by name does not repeat
        return self._browser.new_context(**options)  # type: ignore[arg-type]

    def close(self, context: BrowserContext) -> None:
        late = threading.Timer(self.closes_within_s, os.kill, (self.pid, signal.SIGKILL))
        late.start()
        try:
            context.close()
        except Error:
            if late.is_alive() and self._browser and self._browser.is_connected():
                raise
        finally:
            late.cancel()

    def end(self) -> None:
        if self._browser:
            for context in self._browser.contexts:
                self.close(context)
            self._browser.close()


def _process(browser: Browser) -> int:
    """The id of the browser's own process."""
    with_all = browser.new_browser_cdp_session()
    processes = with_all.send("SystemInfo.getProcessInfo")["processInfo"]
    with_all.detach()
    return next(int(process["id"]) for process in processes if process["type"] == "browser")
