"""Work of a serving process: tokens that are not our keys are known by whoever the settings name."""

from __future__ import annotations

from functools import partial

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agents.base.errors import NotAuthenticated, Unavailable
from agents.base.schemas.identity import Identity, TokenRequest
from agents.base.store import tokens
from agents.base.store.tokens import Identify
from agents.identity.providers import token_providers as identity
from agents.identity.providers.base import IdentityProvider, Rejected, Unreachable
from agents.loop import background


class IdentityBackground(background.BackgroundWork):
    async def start(self) -> None:
        tokens.use_provider(identify())


def identify() -> Identify | None:
    """Whoever knows tokens that are not our keys. Raises ImproperlyConfigured."""
    if not settings.AUTH_PROVIDER:
        return None
    try:
        provider = identity.from_settings(settings.AUTH_PROVIDER)
    except (ValueError, OSError) as error:
        raise ImproperlyConfigured(f"AUTH_PROVIDER: {error}") from error
    return partial(_identified, provider)


def _identified(provider: IdentityProvider, token: str, request: TokenRequest) -> Identity:
    try:
        return provider.identify(token, request)
    except Rejected as error:
        raise NotAuthenticated(str(error), code="invalid_token", headers={"WWW-Authenticate": "Bearer"}) from error
    except Unreachable as error:
        raise Unavailable(f"The issuer of tokens cannot be asked: {error}.", retry_after_s=5) from error
