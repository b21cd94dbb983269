"""Takes the path before all of ours off, where a proxy has left it, so that there is one form of each path inside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

Application = Callable[..., Awaitable[Any]]


def below_prefix(application: Application) -> Application:
    """Wrap an application so that it sees paths without `URL_PREFIX`, whether they come with it or not."""
    prefix: str = settings.URL_PREFIX
    if not prefix:
        return application

    async def unprefixed(scope: dict[str, Any], receive: Any, send: Any) -> Any:
        path = scope.get("path", "")
        if path == prefix or path.startswith(f"{prefix}/"):
            scope = {**scope, "path": path[len(prefix) :] or "/"}
        return await application(scope, receive, send)

    return unprefixed
