"""The documentation, built from ``docs/``: static files at ``/docs/``, for everybody, with no need of a network."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from django.conf import settings
from whitenoise.base import WhiteNoise
from whitenoise.responders import StaticFile

PREFIX = "/docs/"
POLICY = (
    "default-src 'none'; script-src 'self'{scripts}; worker-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""The tool that builds the pages puts a few lines of script and style into each. All of it is ours, so a page may run
just the scripts that it was built with."""

_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def files() -> dict[str, StaticFile]:
    """Return the files of the documentation by their paths, the index of a folder at the folder's own; none where it
    was not built."""
    if not is_built():
        return {}
    site = WhiteNoise(
        None, autorefresh=False, index_file="index.html", allow_all_origins=False, add_headers_function=_add_headers
    )
    site.add_files(str(settings.DOCS_DIR), prefix=PREFIX)
    by_path: dict[str, StaticFile] = site.files
    return by_path


def is_built() -> bool:
    return (settings.DOCS_DIR / "index.html").is_file()


def _add_headers(headers: dict[str, str], path: str, url: str) -> None:
    if path.endswith(".html"):
        headers["Content-Security-Policy"] = policy(Path(path).read_bytes())
    elif path.endswith((".md", ".txt")):
        headers["Content-Type"] = "text/plain; charset=utf-8"


def policy(page: bytes) -> str:
    """Return the policy of a page, which names its own scripts by their hashes."""
    digests = sorted({base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _SCRIPT.findall(page)})
    return POLICY.format(scripts="".join(f" 'sha256-{digest}'" for digest in digests))
