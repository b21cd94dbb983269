"""Shields that were registered over the API."""

from __future__ import annotations

from agents.base.store.registered import Registry
from agents.safety.models import Shield

registered_shields = Registry(Shield, "Shield")
