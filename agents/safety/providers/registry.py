"""The kinds of shields, by the names settings and requests give them: a description becomes a shield.

``llama-guard`` and ``moderation`` look through one of the configured endpoints and never through a
URL of a request's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field, ValidationError

from agents.base.errors import InvalidRequest
from agents.base.schemas.wire import Wire, null_is
from agents.loop.inference.base import RelayEndpoint
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.shields import ShieldProtocol, ShieldSpec
from agents.safety.providers.llama_guard import CATEGORIES, LlamaGuard
from agents.safety.providers.moderation import ModerationShield
from agents.safety.providers.rules import RuleParams, RuleShield
from agents.safety.providers.scripted import PHRASES, PhraseShield

_RUN_PARAMETERS = {
    "llama-guard": ("excluded_categories",),
    "moderation": ("excluded_categories",),
    "scripted": ("phrases",),
}
"""Parameters that a run may bring along. Rules are not among them: who may only run does not choose
what the server compiles."""
PROVIDERS = ("llama-guard", "rules", "moderation", "scripted")


class _Categories(Wire):
    """Categories that are not minded."""

    excluded_categories: Annotated[list[str], null_is([])] = []


class _Phrases(Wire):
    phrases: Annotated[list[str], Field(min_length=1, max_length=1000), null_is(list(PHRASES))] = list(PHRASES)


@dataclass(frozen=True, slots=True)
class ShieldRegistry:
    """``fixed`` are the shields of the settings, by name, and ``made`` those of them that exist
    already; ``make`` makes one of a description. ``pace`` 0 makes what is scripted answer at once."""

    endpoints: Endpoints
    fixed: Mapping[str, ShieldSpec] = field(default_factory=dict)
    instances: Mapping[str, ShieldProtocol] = field(default_factory=dict)
    pace: float = 1.0

    def make(self, spec: ShieldSpec) -> ShieldProtocol:
        """Raises InvalidRequest naming the field, for a provider that is none, an endpoint that
        cannot, parameters that are wrong."""
        if spec.name in self.instances and self.fixed.get(spec.name) == spec:
            return self.instances[spec.name]
        try:
            return self._new_shield(spec)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            path = ".".join(["params", *(str(part)[:80] for part in first["loc"])])
            message = first["msg"].removeprefix("Value error, ")
            raise InvalidRequest(f"{path}: {message}", param=path) from None
        except ValueError as error:
            raise InvalidRequest(f"params: {error}", param="params") from None

    def make_for_run(self, spec: ShieldSpec, params: Mapping[str, Any]) -> ShieldProtocol:
        """The shield with these parameters in place of its own, for one run of it. Raises InvalidRequest
        naming the one that cannot be changed, or is wrong."""
        allowed = _RUN_PARAMETERS.get(spec.provider, ())
        for name in params:
            if name not in allowed:
                hint = (
                    f"those of a run of '{spec.provider}' are {', '.join(allowed)}"
                    if allowed
                    else "it has none of a run"
                )
                path = f"params.{name[:80]}"
                raise InvalidRequest(f"{path}: not a parameter this shield can be run with; {hint}.", param=path)
        return self.make(replace(spec, params={**spec.params, **params}) if params else spec)

    def _new_shield(self, spec: ShieldSpec) -> ShieldProtocol:
        match spec.provider:
            case "llama-guard":
                return self._llama_guard(spec)
            case "rules":
                return RuleShield(spec.name, RuleParams.model_validate(spec.params))
            case "moderation":
                return self._moderation(spec)
            case "scripted":
                phrases = [phrase.casefold() for phrase in _Phrases.model_validate(spec.params).phrases]
                return PhraseShield(spec.name, phrases, takes_s=0.08 * self.pace)
        message = f"provider_id: there is no '{spec.provider[:100]}'; there are {', '.join(PROVIDERS)}."
        raise InvalidRequest(message, param="provider_id")

    def _llama_guard(self, spec: ShieldSpec) -> ShieldProtocol:
        excluded = _Categories.model_validate(spec.params).excluded_categories
        if unknown := sorted(set(excluded) - set(CATEGORIES)):
            raise ValueError(f"excluded_categories: '{unknown[0][:80]}' is none of S1 to S{len(CATEGORIES)}")
        inference, model = self.endpoints.resolve(spec.resource or spec.name)
        return LlamaGuard(spec.name, inference, model, excluded)

    def _moderation(self, spec: ShieldSpec) -> ShieldProtocol:
        excluded = _Categories.model_validate(spec.params).excluded_categories
        endpoint, model = self.endpoints.resolve(spec.resource)
        if not isinstance(endpoint, RelayEndpoint):
            message = f"provider_shield_id: the endpoint '{endpoint.name}' has no /moderations; say endpoint/model."
            raise InvalidRequest(message, param="provider_shield_id")
        return ModerationShield(spec.name, endpoint, model, excluded)
