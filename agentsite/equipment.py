"""What the settings equip this server with: model endpoints, tools, shields, places to retrieve from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agents.base.errors import InvalidRequest, NotAuthenticated, Unavailable
from agents.base.schemas.identity import Identity, TokenRequest
from agents.base.store.tokens import Identify
from agents.identity.providers import token_providers as identity
from agents.identity.providers.base import IdentityProvider, Rejected, Unreachable
from agents.knowledge.providers.embeddings.registry import EmbeddingModels
from agents.knowledge.providers.memory import scripted as scripted_memory
from agents.knowledge.providers.memory.fetcher import Fetcher
from agents.knowledge.runner import rag
from agents.knowledge.runner.knowledge_base import Library
from agents.loop.inference.registry import EndpointConfig, Endpoints
from agents.loop.protocols.shields import ShieldSpec
from agents.loop.protocols.tools import ToolGroup
from agents.loop.provider_set import MakeMemory, Providers
from agents.safety.providers.registry import PROVIDERS, Shields
from agents.telemetry.runner.otlp_export import OtlpExporter, headers_of
from agents.tools.providers import code_interpreter, functions, mcp, web_search
from agents.tools.providers import scripted as scripted_tools
from agents.tools.providers.web_search import Brave, Tavily, WebSearch


def identify() -> Identify | None:
    """Whoever knows tokens that are not our keys. Raises ImproperlyConfigured."""
    if not settings.AUTH_PROVIDER:
        return None
    try:
        provider = identity.from_settings(settings.AUTH_PROVIDER)
    except (ValueError, OSError) as error:
        raise ImproperlyConfigured(f"AUTH_PROVIDER: {error}") from error
    return partial(_identified, provider)


def _identified(provider: IdentityProvider, token: str, asked: TokenRequest) -> Identity:
    try:
        return provider.identify(token, asked)
    except Rejected as error:
        raise NotAuthenticated(str(error), code="invalid_token", headers={"WWW-Authenticate": "Bearer"}) from error
    except Unreachable as error:
        raise Unavailable(f"The issuer of tokens cannot be asked: {error}.", retry_after_s=5) from error


def exporter() -> OtlpExporter | None:
    """Whoever tells a collector of the turns that end here. Raises ImproperlyConfigured."""
    if not settings.OTLP_EXPORT_ENDPOINT:
        return None
    try:
        headers = headers_of(settings.OTLP_EXPORT_HEADERS or "")
    except ValueError as error:
        raise ImproperlyConfigured(f"OTLP_EXPORT_HEADERS: {error}") from error
    try:
        return OtlpExporter(settings.OTLP_EXPORT_ENDPOINT, headers)
    except ValueError as error:
        raise ImproperlyConfigured(f"OTLP_EXPORT_ENDPOINT: {error}") from error


def endpoints() -> Endpoints:
    """The model endpoints of the settings."""
    return Endpoints.from_config(_configured(), settings.DEFAULT_ENDPOINT or None)


def _configured() -> dict[str, EndpointConfig]:
    configured = {
        name: EndpointConfig(
            base_url=str(raw.get("base_url", "")),
            api_key=raw.get("api_key") or None,
            max_tokens_field=_max_tokens_field(name, raw),
        )
        for name, raw in settings.MODEL_ENDPOINTS.items()
    }
    if settings.OPENAI_BASE_URL or settings.OPENAI_API_KEY:
        base_url = settings.OPENAI_BASE_URL or "https://api.openai.com/v1"
        configured["openai"] = EndpointConfig(base_url=base_url, api_key=settings.OPENAI_API_KEY or None)
    return configured


def _max_tokens_field(endpoint: str, raw: Mapping[str, object]) -> str:
    field = raw.get("max_tokens_field") or "max_tokens"
    if field not in ("max_tokens", "max_completion_tokens"):
        words = f"MODEL_ENDPOINTS: {endpoint}: max_tokens_field is max_tokens or max_completion_tokens"
        raise ImproperlyConfigured(words)
    return str(field)


def providers(models: Endpoints, pace: float = 1.0) -> Providers:
    """Everything this server can lean on. ``pace`` 0 makes what is scripted answer at once."""
    books = library()
    return Providers(
        endpoints=models,
        tools={**tools(pace), rag.GROUP: ToolGroup(rag.GROUP, tools=rag.tools(books))},
        mcp=mcp_servers(),
        tool_timeout_s=settings.TOOL_TIMEOUT_S,
        shields=shields(models, pace),
        memory=memory(pace, books),
        library=books,
    )


def tools(pace: float) -> Mapping[str, ToolGroup]:
    """Groups of tools by name. Raises ImproperlyConfigured for a function that cannot be a tool."""
    keys = {"brave-search": settings.BRAVE_SEARCH_API_KEY, "tavily-search": settings.TAVILY_SEARCH_API_KEY}
    engines = (Brave(settings.BRAVE_SEARCH_URL), Tavily(settings.TAVILY_SEARCH_URL))
    try:
        groups = functions.load(settings.TOOL_FUNCTIONS)
    except functions.FunctionError as error:
        raise ImproperlyConfigured(f"TOOL_FUNCTIONS: {error}") from error
    groups.append(web_search.group(WebSearch(engines, keys)))
    if settings.CODE_INTERPRETER:
        groups.append(code_interpreter.group())
    groups.append(ToolGroup(scripted_tools.GROUP, tools=scripted_tools.tools(pace)))
    return {group.name: group for group in groups}


def mcp_servers() -> mcp.Mcp:
    """The way to MCP servers, the operator's among them. Raises ImproperlyConfigured."""
    try:
        servers = mcp.configured(settings.MCP_SERVERS)
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error
    return mcp.Mcp(allow_private=settings.MCP_ALLOW_PRIVATE, configured=servers, call_s=settings.TOOL_TIMEOUT_S)


def shields(models: Endpoints, pace: float) -> Shields:
    """The shields of the settings, and the demo's unless its name is taken. Raises
    ImproperlyConfigured for one that could not check."""
    specs = {name: _shield(name, raw) for name, raw in settings.SHIELDS.items()}
    specs.setdefault(DEMO_SHIELD, ShieldSpec(DEMO_SHIELD, "scripted", DEMO_SHIELD))
    maker, made = Shields(models, pace=pace), {}
    for name, spec in specs.items():
        try:
            made[name] = maker.make(spec)
        except InvalidRequest as error:
            raise ImproperlyConfigured(f"SHIELDS: {name}: {error.message}") from error
    return Shields(models, specs, made, pace)


DEMO_SHIELD = "demo_guard"


def _shield(name: str, raw: object) -> ShieldSpec:
    """``{"provider": …, "model": "endpoint/model", …}``; all else are the provider's parameters."""
    if not isinstance(raw, dict) or raw.get("provider") not in PROVIDERS:
        words = f"SHIELDS: {name}: an object with a provider is needed, one of {', '.join(PROVIDERS)}"
        raise ImproperlyConfigured(words)
    params = {key: value for key, value in raw.items() if key not in ("provider", "model")}
    return ShieldSpec(name, raw["provider"], str(raw.get("model", "")), params)


def library() -> Library:
    """Vector databases, and what reads and embeds documents. Raises ImproperlyConfigured."""
    try:
        models = EmbeddingModels(_configured(), settings.EMBEDDING_MODEL)
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error
    return Library(models, Fetcher(allow_private=settings.FETCH_ALLOW_PRIVATE))


def memory(pace: float, books: Library) -> Mapping[str, MakeMemory]:
    """Places to retrieve from, by the group that asks for them."""
    policies = scripted_memory.PolicyMemory(takes_s=0.25 * pace)
    return {
        scripted_memory.GROUP: lambda actor, session, args: policies,
        rag.MEMORY_GROUP: partial(rag.session_memory, books),
    }
