"""The text of a PDF, read by a process of its own: a hostile file may eat time and memory, and a process
can be stopped. ``python -m agents.knowledge.providers.memory.pdf`` is that process: a PDF in, JSON out.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import resource
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from agents.base.errors import InvalidRequest, Unavailable

MAX_PAGES = 2_000
MAX_CHARS = 16 * 1024 * 1024
TIMEOUT_S = 60
MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_PROCESSES = 2

_ROOT = Path(__file__).resolve().parents[4]

_gates: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


async def text_of(data: bytes, where: str) -> str:
    """A PDF's words, pages separated by a blank line. Raises InvalidRequest, naming ``where``."""
    if b"%PDF-" not in data[:1024]:
        message = f"{where}: mime_type is 'application/pdf', but it is no PDF."
        raise InvalidRequest(message, param="documents", code="document_type")
    loop = asyncio.get_running_loop()
    for closed in [event_loop for event_loop in _gates if event_loop.is_closed()]:
        del _gates[closed]
    async with _gates.setdefault(loop, asyncio.Semaphore(MAX_PROCESSES)):
        result = await _read(data, where)
    if "error" in result:
        message = f"{where}: the PDF cannot be read: {str(result['error'])[:300]}"
        raise InvalidRequest(message, param="documents", code="document_unreadable")
    return str(result["text"])


async def _read(data: bytes, where: str) -> dict[str, Any]:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__),
            stdin=file,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=_ROOT,
            env={},  # the secrets of this server's are none of a file's business
        )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            out, _ = await process.communicate()
    except TimeoutError:
        raise InvalidRequest(f"{where}: the PDF took longer than {TIMEOUT_S} s.", param="documents") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        result = json.loads(out)
    except ValueError:
        # one that was stopped did not end by itself
        return {"error": "it is damaged" if process.returncode == 1 else "it needs too much memory or time"}
    if not isinstance(result, dict):
        raise Unavailable("The reader of PDFs failed.")
    return result


# ---------------------------------------------------------------------------------- inside the process


def _extract(data: bytes) -> dict[str, str]:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "it is encrypted"}
        if len(reader.pages) > MAX_PAGES:
            return {"error": f"it has more than {MAX_PAGES} pages"}
        return _pages(reader)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OSError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _pages(reader: Any) -> dict[str, str]:
    parts: list[str] = []
    chars = 0
    for page in reader.pages:
        text = page.extract_text().strip()
        chars += len(text)
        if chars > MAX_CHARS:
            return {"error": f"it has more than {MAX_CHARS:,} characters"}
        parts.append(text)
    text = "\n\n".join(filter(None, parts))
    return {"text": text} if text else {"error": "there is no text in it (a scan?)"}


def main() -> None:
    """Read a PDF from the standard input, under limits the process gives itself."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT_S, TIMEOUT_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    logging.disable()
    try:
        result = _extract(sys.stdin.buffer.read())
    except MemoryError:
        result = {"error": "it needs too much memory"}
    # halves of a pair, which a PDF may hold, are no text and could not be stored
    sys.stdout.buffer.write(json.dumps(result, ensure_ascii=False).encode(errors="replace"))


if __name__ == "__main__":
    main()
