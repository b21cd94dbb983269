"""The middleware of every request, from the outermost in. All of it runs on the event loop: one sync
middleware would cost each request two changes of thread.

Django's middleware for cookies runs for pages only: ``/v1`` never reads cookies.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from importlib.metadata import distribution
from typing import Any, cast

from asgiref.sync import markcoroutinefunction
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.utils.cache import patch_vary_headers
from django.utils.functional import cached_property
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from agents.base import shares
from agents.base.api.error_bodies import speaks_anthropic
from agents.base.api.negotiation import error_response
from agents.base.api.sender import address_of
from agents.base.api.views import Awaited
from agents.base.api.waiting import awaited
from agents.base.errors import AgentsError, InvalidRequest, MethodNotAllowed, NotAllowed, RateLimited
from agentsite import callers, documentation, request_bodies, request_log
from agentsite.request_threads import EXECUTOR_KEY, RequestExecutor

GetResponse = Callable[[HttpRequest], Awaitable[HttpResponseBase]]

CSP_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
CSP_TRUSTED = f"{CSP_PAGE}; require-trusted-types-for 'script'; trusted-types fragments"
CSP_API = "default-src 'none'; sandbox; frame-ancestors 'none'"

API_PATHS = ("/v1/", "/v1alpha/", "/langsmith/", "/api/public/", "/mcp/")
"""Paths of the APIs, where no cookies are read."""

UNTRUSTED_PATHS = ("/admin/", "/docs/")
"""Paths of pages with scripts of others, which know no Trusted Types."""

SWAGGER_UI = distribution("drf-spectacular-sidecar").locate_file(
    "drf_spectacular_sidecar/static/drf_spectacular_sidecar/swagger-ui-dist"
)
"""Files served from their package as they are: to hash and compress them too would double the time of a first start."""

PAGE_METHODS = ("GET", "HEAD", "POST")
"""API views check their own methods; a page would treat any other as GET, and Django checks no CSRF token on TRACE."""


def is_api(path: str) -> bool:
    return path.startswith(API_PATHS) or path in {"/v1", "/v1alpha", "/mcp"}


class _Async:
    """An async-only middleware."""

    async_capable, sync_capable = True, False

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        markcoroutinefunction(cast(Any, self))


class RequestIdMiddleware(_Async):
    """Gives each request an id, which is in its response and in our log; counts it, and logs it."""

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        request.request_id = request_id = request_log.identify(request.headers)  # type: ignore[attr-defined]  # a field that Django's requests lack
        response = await self.get_response(request)
        response["x-request-id"] = request_id
        if speaks_anthropic(request):
            response["request-id"] = request_id
        request_log.answered(request, response, began)
        return response


class GuardMiddleware(_Async):
    """Checks the Host of every request, the method of page requests and the Origin of API requests; sets security
    headers on every response."""

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            self._check(request)
        except AgentsError as error:
            response: HttpResponseBase = error_response(error, request)
        else:
            response = await self.get_response(request)
        self._set_headers(request, response)
        return response

    @staticmethod
    def _check(request: HttpRequest) -> None:
        try:
            host = request.get_host()
        except DisallowedHost as error:
            raise InvalidRequest("Host: this name is not served here.", param="Host", code="bad_host") from error
        if not is_api(request.path_info):
            if request.method not in PAGE_METHODS:
                raise MethodNotAllowed(str(request.method), ", ".join(PAGE_METHODS))
            return
        origin = request.headers.get("Origin")
        is_cross_origin = origin is not None and origin not in {f"{request.scheme}://{host}", *settings.TRUSTED_ORIGINS}
        if is_cross_origin or request.headers.get("Sec-Fetch-Site") == "cross-site":
            raise NotAllowed("Requests from other sites' pages are refused.", code="foreign_origin")

    @staticmethod
    def _set_headers(request: HttpRequest, response: HttpResponseBase) -> None:
        path = request.path_info
        headers = response.headers
        if is_api(path):
            headers.setdefault("Content-Security-Policy", CSP_API)
        elif path.startswith(UNTRUSTED_PATHS):
            headers.setdefault("Content-Security-Policy", CSP_PAGE)
        else:
            headers.setdefault("Content-Security-Policy", CSP_TRUSTED)
        headers.setdefault("X-Content-Type-Options", "nosniff")
        headers.setdefault("X-Frame-Options", "DENY")
        headers.setdefault("Referrer-Policy", "same-origin")
        headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if settings.BEHIND_TLS:
            headers.setdefault("Strict-Transport-Security", f"max-age={settings.SECURE_HSTS_SECONDS}")
        if not path.startswith(settings.WHITENOISE_STATIC_PREFIX):
            headers.setdefault("Cache-Control", "no-store")


class StaticMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # untyped
    """Serves static files on the event loop: they are few and small, and read once. Which there are is looked up when
    the first is asked for: a server of the API alone needs none."""

    async_capable, sync_capable = True, False

    def __init__(self, get_response: GetResponse) -> None:
        self._folders: list[tuple[str, str]] = []
        super().__init__(get_response)
        self.add_files(str(SWAGGER_UI), prefix=f"{settings.WHITENOISE_STATIC_PREFIX}swagger-ui/")
        markcoroutinefunction(cast(Any, self))

    def update_files_dictionary(self, root: str, prefix: str) -> None:
        """Note a folder, where the library would look through it."""
        self._folders.append((root, prefix))

    @cached_property
    def documentation(self) -> dict[str, StaticFile]:
        return documentation.files()

    def _file_at(self, path: str) -> StaticFile | None:
        if path.startswith(documentation.PREFIX):
            return self.documentation.get(path)
        if not path.startswith(self.static_prefix):
            return None
        if self.autorefresh:
            return self.find_file(path)
        while self._folders:
            super().update_files_dictionary(*self._folders.pop(0))
        return self.files.get(path)

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        static_file = self._file_at(request.path_info)
        if static_file is None:
            return cast(HttpResponseBase, await self.get_response(request))
        static_response = static_file.get_response(request.method, request.META)
        body = static_response.file.read() if static_response.file else b""
        if static_response.file:
            static_response.file.close()
        response = HttpResponse(body, status=int(static_response.status))
        del response["Content-Type"]
        for name, value in static_response.headers:
            response[name] = value
        return response


PROBES = frozenset({"/healthz", "/readyz"})
"""Paths of health checks, which are answered however busy the server is."""


class ShareMiddleware(_Async):
    """Waits for a request thread for each request, by the fair share of its caller."""

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        executor = executor_of(request)
        if executor is None or request.path_info in PROBES:
            return await self.get_response(request)
        digest = callers.digest_of(request.headers, request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""))
        caller = callers.caller_of(digest, address_of(request))
        shares.caller.set(caller)
        try:
            await executor.enter(caller, large=_is_large(request))
        except RateLimited as error:
            return error_response(error, request)
        response = await self.get_response(request)
        callers.remember(digest, getattr(request, "actor", None))
        # a finished request is part of reference cycles (DRF's, and Django's of a client that disconnected): with them
        # a body of megabytes would stay until the next garbage collection
        vars(request).pop("_body", None)
        return response


def _is_large(request: HttpRequest) -> bool:
    """Return whether its body takes much memory to read; files are read in chunks."""
    return request_bodies.BODY_KEY in getattr(request, "scope", {}) and request.content_type != "multipart/form-data"


def executor_of(request: HttpRequest) -> RequestExecutor | None:
    """Return the executor that holds its request thread; None without a server."""
    return cast(RequestExecutor | None, getattr(request, "scope", {}).get(EXECUTOR_KEY))


class _PagesOnly:
    """A Django middleware that leaves the API alone."""

    get_response: Any

    async def __acall__(self, request: HttpRequest) -> Any:
        if is_api(request.path_info):
            return await self.get_response(request)
        return await super().__acall__(request)  # type: ignore[misc]  # MiddlewareMixin has it


class PageSessionMiddleware(_PagesOnly, SessionMiddleware):
    """Sessions, for pages only."""


class PageAuthMiddleware(_PagesOnly, AuthenticationMiddleware):
    """The logged-in user, for pages only."""


class PageMessageMiddleware(_PagesOnly, MessageMiddleware):
    """One-time messages, for pages only."""


NOT_PAGES = PROBES | {"/metrics"}


class PageLocaleMiddleware(_PagesOnly, LocaleMiddleware):
    """Activates the reader's language for pages: the chosen one, or else the browser's. API responses are the
    same for everyone."""

    async def __acall__(self, request: HttpRequest) -> Any:
        if request.path_info in NOT_PAGES:
            return await self.get_response(request)
        return await super().__acall__(request)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response = super().process_response(request, response)
        patch_vary_headers(response, ("Cookie",))
        return response


class PageCsrfMiddleware(_PagesOnly, CsrfViewMiddleware):
    """Refuses forged forms of pages; the API reads no cookies that could be abused."""

    def process_view(self, request: HttpRequest, *args: Any) -> Any:
        return None if is_api(request.path_info) else super().process_view(request, *args)


class AwaitMiddleware(_Async):
    """Awaits, on the event loop, the response that a view returned as `Awaited`. It is innermost, so that headers
    set further out reach the real response."""

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = await self.get_response(request)
        if not isinstance(response, Awaited):
            return response
        executor = executor_of(request)
        if executor is not None:
            executor.free()  # the view is done; the awaited work does not need its thread
        return await awaited(response, request)
