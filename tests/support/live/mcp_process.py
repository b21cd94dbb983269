"""MCP servers and a search engine for tests, as processes and threads of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.http_endpoint import Reply, Request, answering
from tests.support.live.process import ServerProcess

TOKEN = "let-me-in"


@dataclass
class McpProcess:
    """One MCP server; it can be ended, and started again on the same port."""

    transport: str = "streamable-http"
    token: str = ""
    port: int = 0
    process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{'sse' if self.transport == 'sse' else 'mcp'}"

    @property
    def sent(self) -> dict[str, str]:
        """The header that lets its caller in."""
        data = f'{{"mcp_headers": {{"{self.url}": {{"Authorization": "Bearer {TOKEN}"}}}}}}'
        return {"X-LlamaStack-Provider-Data": data}

    def start(self) -> McpProcess:
        script = Path(__file__).with_name("mcp_server.py")
        command = [sys.executable, str(script), self.transport, *([self.token] if self.token else [])]
        environment = {**os.environ, "MCP_PORT": str(self.port)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None  # a pipe
        self.port = int(self.process.stdout.readline())
        return self

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            if self.process.stdout:
                self.process.stdout.close()
            self.process = None


@contextmanager
def served(**options: str) -> Iterator[McpProcess]:
    made = McpProcess(**options).start()  # type: ignore[arg-type]  # texts
    try:
        yield made
    finally:
        made.stop()


search_keys: list[str] = []
"""Those that came to `engine_serving`."""


@contextmanager
def engine_serving() -> Iterator[str]:
    """Where a search engine is that speaks as Brave's does."""
    body = b'{"web": {"results": [{"title": "Kettles", "url": "https://example.org/", "description": "Blue."}]}}'

    def found(request: Request) -> Reply:
        search_keys.append(request.headers["X-Subscription-Token"])
        return Reply(body)

    with answering(found) as address:
        yield address


def check_kept_nowhere(secret: str, process: ServerProcess) -> None:
    """Neither the server's data nor its log holds a secret."""
    kept = [path for path in (process.folder / "data").rglob("*") if path.is_file()]
    assert kept
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []
    assert secret not in process.log
