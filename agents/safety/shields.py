"""The shields of a turn, by the names an agent gives them: the settings' first, which nobody can
shadow, then those registered over the API that the actor sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest
from agents.base.store.registered import Registration
from agents.loop.protocols.shields import ShieldProtocol, ShieldSpec
from agents.loop.provider_set import Providers
from agents.safety.providers.registry import ShieldRegistry
from agents.safety.store import registered_shields


def shields(
    providers: Providers, actor: Actor, names: Sequence[str], param: str, action: Action = "run"
) -> list[ShieldProtocol]:
    """The shields of a list, for ``action``. Raises InvalidRequest, for ``param``, when there is none of
    that name."""
    return [providers.part(ShieldRegistry).make(_spec_of(providers, actor, name, param, action)) for name in names]


def shield_for_run(providers: Providers, actor: Actor, name: str, params: Mapping[str, Any]) -> ShieldProtocol:
    """A shield with these parameters in place of its own. Raises InvalidRequest for ``shield_id`` and
    ``params``."""
    return providers.part(ShieldRegistry).make_for_run(_spec_of(providers, actor, name, "shield_id", "run"), params)


def _spec_of(providers: Providers, actor: Actor, name: str, param: str, action: Action) -> ShieldSpec:
    spec = find(providers, actor, name, action)
    if spec is None:
        available = ", ".join(spec.name for spec in listing(providers, actor, action)[:50]) or "none"
        message = f"{param}: Shield '{name[:200]}' not found. Available: {available}."
        raise InvalidRequest(message, param=param, code="shield_not_found")
    return spec


def find(providers: Providers, actor: Actor, name: str, action: Action = "read") -> ShieldSpec | None:
    """The shield of this name, if the actor sees one and may do this with it."""
    fixed = providers.part(ShieldRegistry).fixed.get(name)
    if fixed:
        return fixed
    row = registered_shields.find(actor, name, action)
    return _spec(row) if row else None


def name_of(providers: Providers, actor: Actor, named: str, action: Action = "run") -> str:
    """The name of a shield that is named by it, or by what its provider knows it as; what is neither is returned."""
    if find(providers, actor, named, action) is not None:
        return named
    return next((spec.name for spec in listing(providers, actor, action) if spec.resource == named), named)


def listing(providers: Providers, actor: Actor, action: Action = "read") -> list[ShieldSpec]:
    """All shields the actor sees and may do this with."""
    fixed = providers.part(ShieldRegistry).fixed
    rows = registered_shields.listing(actor, action)
    return [*fixed.values(), *(_spec(row) for row in rows if row.identifier not in fixed)]


def names(providers: Providers, actor: Actor, action: Action) -> list[str]:
    """The names of all shields the actor may do this with."""
    return [spec.name for spec in listing(providers, actor, action)]


def register(providers: Providers, actor: Actor, spec: ShieldSpec) -> ShieldSpec:
    """Register a shield. Raises InvalidRequest for one that could not check, Conflict when the name
    is taken."""
    check_new(providers, spec)
    registered_shields.add(actor, Registration(spec.name, spec.provider, spec.resource, spec.params))
    return spec


def check_new(providers: Providers, spec: ShieldSpec) -> None:
    """Whether it could be registered. Raises InvalidRequest."""
    _refuse_fixed(providers, spec.name)
    providers.part(ShieldRegistry).make(spec)


def unregister(providers: Providers, actor: Actor, name: str) -> None:
    """Raises NotFound."""
    _refuse_fixed(providers, name)
    registered_shields.delete(actor, name)


def _refuse_fixed(providers: Providers, name: str) -> None:
    if name in providers.part(ShieldRegistry).fixed:
        message = f"shield_id: '{name[:200]}' is a shield of this server's settings."
        raise InvalidRequest(message, param="shield_id", code="shield_of_the_settings")


def _spec(row: Registration) -> ShieldSpec:
    return ShieldSpec(row.identifier, row.provider, row.resource, row.params)
