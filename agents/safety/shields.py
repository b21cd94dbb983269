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
from agents.safety.providers.registry import Shields
from agents.safety.store import registered_shields


def shields(
    providers: Providers, actor: Actor, names: Sequence[str], param: str, action: Action = "run"
) -> list[ShieldProtocol]:
    """The shields of a list, for ``action``. Raises InvalidRequest, for ``param``, when there is none of
    that name."""
    return [providers.part(Shields).make(_named(providers, actor, name, param, action)) for name in names]


def for_a_run(providers: Providers, actor: Actor, name: str, params: Mapping[str, Any]) -> ShieldProtocol:
    """A shield with these parameters in place of its own. Raises InvalidRequest for ``shield_id`` and
    ``params``."""
    return providers.part(Shields).for_a_run(_named(providers, actor, name, "shield_id", "run"), params)


def _named(providers: Providers, actor: Actor, name: str, param: str, action: Action) -> ShieldSpec:
    spec = find(providers, actor, name, action)
    if spec is None:
        available = ", ".join(one.name for one in listing(providers, actor, action)[:50]) or "none"
        words = f"{param}: Shield '{name[:200]}' not found. Available: {available}."
        raise InvalidRequest(words, param=param, code="shield_not_found")
    return spec


def find(providers: Providers, actor: Actor, name: str, action: Action = "read") -> ShieldSpec | None:
    """The shield of this name, if the actor sees one and may do this with it."""
    fixed = providers.part(Shields).fixed.get(name)
    if fixed:
        return fixed
    row = registered_shields.find(actor, name, action)
    return _spec(row) if row else None


def listing(providers: Providers, actor: Actor, action: Action = "read") -> list[ShieldSpec]:
    """All shields the actor sees and may do this with."""
    fixed = providers.part(Shields).fixed
    rows = registered_shields.listing(actor, action)
    return [*fixed.values(), *(_spec(row) for row in rows if row.identifier not in fixed)]


def register(providers: Providers, actor: Actor, spec: ShieldSpec) -> ShieldSpec:
    """Register a shield. Raises InvalidRequest for one that could not check, Conflict when the name
    is taken."""
    check_new(providers, spec)
    registered_shields.add(actor, Registration(spec.name, spec.provider, spec.resource, spec.params))
    return spec


def check_new(providers: Providers, spec: ShieldSpec) -> None:
    """Whether it could be registered. Raises InvalidRequest."""
    _refuse_fixed(providers, spec.name)
    providers.part(Shields).make(spec)


def unregister(providers: Providers, actor: Actor, name: str) -> None:
    """Raises NotFound."""
    _refuse_fixed(providers, name)
    registered_shields.delete(actor, name)


def _refuse_fixed(providers: Providers, name: str) -> None:
    if name in providers.part(Shields).fixed:
        words = f"shield_id: '{name[:200]}' is a shield of this server's settings."
        raise InvalidRequest(words, param="shield_id", code="shield_of_the_settings")


def _spec(row: Registration) -> ShieldSpec:
    return ShieldSpec(row.identifier, row.provider, row.resource, row.params)
