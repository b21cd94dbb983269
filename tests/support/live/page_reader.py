"""Someone who reads a page and sends its forms."""

from __future__ import annotations

import re
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, ProxyHandler, build_opener

from tests.support.live.caller import TIMEOUT_S
from tests.support.live.process import ServerProcess


class Reader:
    """Someone at a page: keeps its cookies, sends its forms."""

    def __init__(self, server: ServerProcess, path: str) -> None:
        self.path, self.base = path, server.base
        self._open = build_opener(ProxyHandler({}), HTTPCookieProcessor()).open
        self.page = self.look()

    def look(self) -> str:
        with self._open(self.base + self.path, timeout=TIMEOUT_S) as answer:
            return str(answer.read().decode())

    def send(self, action: str, **fields: str) -> int:
        """The status at the end of the way that a form leads."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.page)
        assert token
        body = urlencode({"csrfmiddlewaretoken": token[1], **fields}).encode()
        try:
            with self._open(f"{self.base}{self.path}{action}", body, timeout=TIMEOUT_S) as answer:
                return int(answer.status)
        except HTTPError as refused:
            return refused.code
