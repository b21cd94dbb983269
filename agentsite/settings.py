"""Reads every setting from the environment; the defaults run on a fresh clone."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from agents.base.store.sqlite import ENGINE as SQLITE
from agents.base.subjects import REMOVABLE
from agentsite import environment as env
from turnlog import __version__

BASE_DIR = Path(__file__).resolve().parent.parent

# ------------------------------------------------------------------------------------ where things are
DOCS_DIR = BASE_DIR / "build" / "docs" if (BASE_DIR / "zensical.toml").exists() else BASE_DIR / "docs"
"""The documentation as built: in a clone, or where a wheel has it."""
DATA_DIR = env.folder("DATA_DIR", BASE_DIR / "var")
HOST = env.text("HOST", "127.0.0.1")
PORT = env.integer("PORT", 8321, high=65535)
LOOPBACK = HOST in {"127.0.0.1", "::1", "localhost"}
PUBLIC_URL = env.http_url("PUBLIC_URL")
"""How others reach this server: https://example.org, or below a path of it https://example.org/turnlog."""
_PUBLIC = urlsplit(PUBLIC_URL)
URL_PREFIX = _PUBLIC.path
"""The path before all of ours, which a proxy may take off or leave; empty without one."""
FORCE_SCRIPT_NAME = URL_PREFIX or None
AUTH_PROVIDER = env.mapping("AUTH_PROVIDER")
"""Who knows tokens that are not our keys: {"type": "jwks" | "introspection" | "custom", ...}; see docs/access.md."""
_IS_PUBLIC = not LOOPBACK or (_PUBLIC.hostname or "localhost") not in {"127.0.0.1", "::1", "localhost"}
REQUIRE_LOGIN = env.flag("REQUIRE_LOGIN", _IS_PUBLIC or bool(AUTH_PROVIDER))
"""Without it (loopback only) requests that carry no key act as the built-in local user."""
if not (REQUIRE_LOGIN or LOOPBACK):
    raise ImproperlyConfigured(f"HOST={HOST} can be reached by others, so REQUIRE_LOGIN cannot be switched off")

INSTALLED_SUBJECTS = env.word_list("INSTALLED_SUBJECTS") or list(REMOVABLE)
"""The subjects of agents/__init__.py that this server has, of those that can be left out."""

# --------------------------------------------------------------------------------------------- secrets
SECRET_KEY = env.secret("SECRET_KEY") or env.stored_secret(DATA_DIR / "secret")
ID_SECRET = env.secret("ID_SECRET") or SECRET_KEY
"""Forms the checksums of public ids: changing it voids every id handed out."""

DEBUG = env.flag("DEBUG")
if DEBUG and not LOOPBACK:
    raise ImproperlyConfigured("DEBUG works on loopback only")

# -------------------------------------------------------------------------------------------- database
_SQLITE_PRAGMAS = ";".join(
    f"PRAGMA {pragma}"
    for pragma in (
        "page_size=8192",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "cache_size=-1024",
        "temp_store=MEMORY",
        "journal_size_limit=67108864",
    )
)


def database(url: str) -> dict[str, Any]:
    """Django's settings for a database URL; SQLite in DATA_DIR when there is none."""
    config: dict[str, Any] = dict(dj_database_url.parse(url or f"sqlite:///{DATA_DIR / 'agents.sqlite3'}"))
    if config["ENGINE"] == "django.db.backends.sqlite3":
        config["ENGINE"] = SQLITE
        config["OPTIONS"] = {"init_command": _SQLITE_PRAGMAS, "transaction_mode": "IMMEDIATE", "timeout": 5}
    elif config["ENGINE"] == "django.db.backends.postgresql":
        config["ENGINE"] = "agents.base.store.postgresql"
        config["CONN_HEALTH_CHECKS"] = True
        options = config.setdefault("OPTIONS", {})
        options.setdefault("connect_timeout", 5)
        # a server that has gone without a word: when something is sent to it, and while an answer is waited for
        options.setdefault("tcp_user_timeout", 10_000)
        options.setdefault("keepalives_idle", 5)
        options.setdefault("keepalives_interval", 2)
    else:
        raise ImproperlyConfigured("DATABASE_URL: sqlite and postgres are supported")
    # threads live long here, so their connections may; those of PostgreSQL's that requests share say otherwise
    # (agentsite.shared_connections)
    config["CONN_MAX_AGE"] = None
    return config


DATABASE_URL = env.secret("DATABASE_URL")
DATABASES = {"default": database(DATABASE_URL)}
MIGRATE = env.flag("MIGRATE", True)
"""Whether a start creates and changes tables. Otherwise `manage.py migrate` does, and a start without it is refused."""
COPY_BEFORE_MIGRATION = env.flag("COPY_BEFORE_MIGRATION", True)
"""Whether a SQLite file of an older version is copied before its tables are changed."""
DEMO = env.flag("DEMO", True)
"""Whether the first start loads the demo."""
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# ---------------------------------------------------------------------------------------------- models
OPENAI_BASE_URL = env.text("OPENAI_BASE_URL")
OPENAI_API_KEY = env.secret("OPENAI_API_KEY")
MODEL_ENDPOINTS = env.mapping("MODEL_ENDPOINTS")
"""More endpoints: {"name": {"base_url": "...", "api_key": "..."}}; a model is "name/model"."""
DEFAULT_ENDPOINT = env.text("DEFAULT_ENDPOINT")
EMBEDDING_MODEL = env.text("EMBEDDING_MODEL")
"""endpoint/model for vector databases whose own model is not known here; without one they are searched by words."""
FETCH_ALLOW_PRIVATE = env.flag("FETCH_ALLOW_PRIVATE")
"""Whether documents may be fetched from this machine and its network, and webhooks sent there."""
SHIELDS = env.mapping("SHIELDS")
"""Shields: {"name": {"provider": "rules", "rules": [...]}}; see docs/shields.md."""

# ----------------------------------------------------------------------------------------------- tools
TOOL_FUNCTIONS = env.functions("TOOL_FUNCTIONS")
"""Python functions as tools: package.module:function, …; or by group, {"group": ["…"]}."""
MCP_SERVERS = env.mapping("MCP_SERVERS")
"""The operator's MCP servers: {"group": {"url": "...", "headers": {...}} or {"command": [...]}}."""
MCP_ALLOW_PRIVATE = env.flag("MCP_ALLOW_PRIVATE", LOOPBACK and not REQUIRE_LOGIN)
"""Whether MCP servers registered over the API may be in private networks, this machine among them."""
BRAVE_SEARCH_API_KEY = env.secret("BRAVE_SEARCH_API_KEY")
BRAVE_SEARCH_URL = env.text("BRAVE_SEARCH_URL", "https://api.search.brave.com").rstrip("/")
TAVILY_SEARCH_API_KEY = env.secret("TAVILY_SEARCH_API_KEY")
TAVILY_SEARCH_URL = env.text("TAVILY_SEARCH_URL", "https://api.tavily.com").rstrip("/")
CODE_INTERPRETER = env.flag("CODE_INTERPRETER", True)
TOOL_TIMEOUT_S = env.integer("TOOL_TIMEOUT_S", 60, low=1, high=1800)

# ---------------------------------------------------------------------------------------------- limits
MAX_RUNNING = env.integer("MAX_RUNNING", 64, low=1, high=10_000)
MAX_QUEUED = env.integer("MAX_QUEUED", 1000, low=0, high=100_000)
MAX_REQUESTS = env.integer("MAX_REQUESTS", 24, low=1, high=1000)
"""Requests that are worked on at once, each on a thread of its own."""
MAX_CONNECTIONS = env.integer("MAX_CONNECTIONS", min(MAX_REQUESTS, 16), low=1, high=1000)
"""Connections to PostgreSQL that these share; all other work of the process has its own, some 14. So three processes
find room in the hundred that PostgreSQL lets in by default."""
MAX_WAITING = env.integer("MAX_WAITING", 1000, low=0, high=100_000)
"""Requests that wait for that."""
MAX_IMPORTS_WAITING = env.integer("MAX_IMPORTS_WAITING", 100, low=0, high=100_000)
MAX_STREAMS = env.integer("MAX_STREAMS", 2000, low=1, high=100_000)
"""Streamed answers, those that are waited for, and sockets that are open at once."""
MAX_SPANS_WAITING = env.integer("MAX_SPANS_WAITING", 1_000_000, low=1, high=1_000_000_000)
"""Spans that came in and are not made into turns yet."""
MAX_BODY_MB = env.integer("MAX_BODY_MB", 8, low=1, high=1024)
MAX_OTLP_MB = env.integer("MAX_OTLP_MB", 20, low=1, high=1024)
MAX_UPLOAD_MB = env.integer("MAX_UPLOAD_MB", 64, low=1, high=1024)
"""The largest file that is taken by an upload."""
ONLY = env.text("ONLY")
"""What this process does, where others do the rest: web, run or ingest; everything if it is empty."""
if ONLY not in {"", "web", "run", "ingest"}:
    raise ImproperlyConfigured(f"ONLY={ONLY}: it is web, run or ingest, or empty")
LIST_PRICES = env.flag("LIST_PRICES", True)
"""Whether models without a price of their own have the public list price that ships."""
RESUME_RUNS = env.flag("RESUME_RUNS", True)
"""Whether a turn whose process is gone goes on in another one, or at the next start; else it ends as interrupted."""
LEASE_SECONDS = env.integer("LEASE_SECONDS", 20, low=3, high=600)
"""How long a process shows no sign of life on PostgreSQL before others go on with what it ran; where it has died, and
its connections with it, they do within two seconds."""
STOP_DELAY_SECONDS = env.integer("STOP_DELAY_SECONDS", 0, high=600)
"""How long a stopping server takes new requests after ``/readyz`` has said that it stops, for a proxy to notice."""
DRAIN_SECONDS = env.integer("DRAIN_SECONDS", 20, high=600)
NUMBERS_MAX_AGE_SECONDS = env.integer("NUMBERS_MAX_AGE_SECONDS", 30, high=3600)
"""For how long at most pages show numbers that took long to count; 0 counts them each time."""
AWAIT_DAYS = env.integer("AWAIT_DAYS", 7, low=1, high=3650)
"""How long a turn waits for its client's tools before it is closed."""
KEEP_UNSTORED = env.flag("KEEP_UNSTORED", False)
"""Whether the log keeps responses that their clients ask not to store; a key may say otherwise."""
UNMATCHED_DAYS = env.integer("UNMATCHED_DAYS", 7, low=1, high=3650)
"""How long traces are kept of which no turn was made."""
WEBHOOK_DAYS = env.integer("WEBHOOK_DAYS", 30, low=2, high=3650)
"""How long events of webhooks and their deliveries are kept."""
AUTOMATION_DAYS = env.integer("AUTOMATION_DAYS", 30, low=2, high=3650)
"""How long it is kept what became of an automation's times."""

# ------------------------------------------------------------------------------------------------- telemetry
METRICS_TOKEN = env.secret("METRICS_TOKEN")
"""Opens /metrics, and nothing else, to whoever sends it as a Bearer token."""
OTLP_GRPC_PORT = env.integer("OTLP_GRPC_PORT", 0, high=65535)
"""Where HOST also listens for reports of OTLP over gRPC, without TLS; nowhere if it is 0."""
OTLP_EXPORT_ENDPOINT = env.text("OTLP_EXPORT_ENDPOINT")
"""A collector of OpenTelemetry that is told of every turn that ends here: http://collector:4318"""
OTLP_EXPORT_HEADERS = env.secret("OTLP_EXPORT_HEADERS")
"""What it is sent along: name=value,name=value, percent-encoded."""
OTLP_EXPORT_REPORTED = env.flag("OTLP_EXPORT_REPORTED", False)
"""Whether it is told of the turns that other programs report here, too."""

# ------------------------------------------------------------------------------------------------- web
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *env.word_list("ALLOWED_HOSTS")]
if _PUBLIC.hostname:
    ALLOWED_HOSTS.append(f"[{_PUBLIC.hostname}]" if ":" in _PUBLIC.hostname else _PUBLIC.hostname)
if not LOOPBACK and HOST not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
    ALLOWED_HOSTS.append(HOST)
TRUSTED_ORIGINS = env.word_list("TRUSTED_ORIGINS")
"""Origins besides our own that may open sockets and post: https://logs.example.org"""
if PUBLIC_URL:
    TRUSTED_ORIGINS.append(f"{_PUBLIC.scheme}://{_PUBLIC.netloc}")
CSRF_TRUSTED_ORIGINS = TRUSTED_ORIGINS
BEHIND_TLS = env.flag("BEHIND_TLS", _PUBLIC.scheme == "https")
"""A proxy in front speaks TLS: cookies become secure, and browsers are told to stay on TLS."""

INSTALLED_APPS = [
    "daphne",
    "agents",
    "agentsite",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
]
AUTH_USER_MODEL = "agents.User"

MIDDLEWARE = [
    "agentsite.middleware.RequestIdMiddleware",
    "agentsite.middleware.GuardMiddleware",
    "agentsite.middleware.StaticMiddleware",
    "agentsite.middleware.ShareMiddleware",
    "agentsite.middleware.PageSessionMiddleware",
    "agentsite.middleware.PageLocaleMiddleware",
    "agentsite.middleware.PageCsrfMiddleware",
    "agentsite.middleware.PageAuthMiddleware",
    "agentsite.middleware.PageMessageMiddleware",
    "agentsite.middleware.AwaitMiddleware",
]
API_MIDDLEWARE = [
    "agentsite.middleware.RequestIdMiddleware",
    "agentsite.middleware.GuardMiddleware",
    "agentsite.middleware.ShareMiddleware",
    "agentsite.middleware.AwaitMiddleware",
]
"""Those of `MIDDLEWARE` that do something for a request of the API: it passes no others."""
ROOT_URLCONF = "agentsite.urls"
ASGI_APPLICATION = "agentsite.asgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "NAME": "jinja2",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "environment": "agents.uikit.templates.environment",
            "context_processors": ["django.contrib.messages.context_processors.messages"],
        },
    },
    {
        # the admin's own, and what we change of it in agents/templates
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "NAME": "django",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

STATIC_URL = f"{URL_PREFIX}/static/"
WHITENOISE_STATIC_PREFIX = "/static/"
"""Where static files are in the URL tables, whatever is before these."""
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "agentsite.staticfiles.HashedFiles"},
}
WHITENOISE_USE_FINDERS = DEBUG

CSRF_FAILURE_VIEW = "agents.uikit.errors.csrf_failure"
LOGIN_URL = f"{URL_PREFIX}/login/"
LOGIN_REDIRECT_URL = f"{URL_PREFIX}/logs/"
COOKIE_PATH = f"{URL_PREFIX}/"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = LANGUAGE_COOKIE_PATH = COOKIE_PATH
SESSION_COOKIE_AGE = 7 * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
if BEHIND_TLS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    # names that browsers take from TLS alone; with __Host- also for the whole host alone
    _NAMED = "__Secure-" if URL_PREFIX else "__Host-"
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_NAMED}sessionid", f"{_NAMED}csrftoken"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "agentsite.passwords.NameSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
SILENCED_SYSTEM_CHECKS = [
    "security.W001",  # of SecurityMiddleware: our GuardMiddleware sets its headers, on the API too; the proxy redirects
    "security.W002",  # of XFrameOptionsMiddleware: GuardMiddleware sets X-Frame-Options as well
    "security.W003",  # of CsrfViewMiddleware: PageCsrfMiddleware is one, for pages; the API reads no cookies
]
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_MB * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "agents.base.api.negotiation.ByBody",
    "DEFAULT_PARSER_CLASSES": ["agents.base.api.negotiation.RawJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["agents.base.api.negotiation.WireRenderer"],
    "DEFAULT_SCHEMA_CLASS": "agents.server.api.openapi.WireSchema",
    "EXCEPTION_HANDLER": "agents.base.api.negotiation.to_response",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "COMPONENT_SPLIT_PATCH": False,
    "TITLE": "Turnlog",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVERS": [{"url": PUBLIC_URL}] if PUBLIC_URL else [],
    "GET_MOCK_REQUEST": "agents.server.api.openapi.described_request",
    "PREPROCESSING_HOOKS": ["agents.server.api.openapi.without_aliases"],
    "POSTPROCESSING_HOOKS": [],
}

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("fr", "Français")]
"""The words are in agents/locale; see docs/languages.md."""
LANGUAGE_COOKIE_NAME = "language"
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_SECURE = BEHIND_TLS
FORMAT_MODULE_PATH = "agentsite.formats"

LOG_FORMAT = env.choice("LOG_FORMAT", ("line", "json"))
"""The form of log lines: for people, or one JSON object each."""
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "class": "agentsite.log_formats.LineFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"class": "agentsite.log_formats.JsonFormatter"},
    },
    "filters": {"once": {"()": "agents.base.store.failures.StoreFailureFilter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["once"]}},
    # a 404 is an answer like any other
    "loggers": {
        "django.request": {"level": "ERROR"},
        # what an MCP server does wrong is told to who asked it; the SDK would print what it says
        "mcp": {"level": "CRITICAL"},
        "client": {"level": "CRITICAL"},
        # it would tell of each try while the database is away; those who asked tell of it
        "psycopg.pool": {"level": "ERROR"},
        "httpx2": {"level": "CRITICAL"},
    },
    "root": {"handlers": ["stderr"], "level": env.text("LOG_LEVEL", "WARNING").upper()},
}
