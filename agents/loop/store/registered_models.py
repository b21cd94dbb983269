"""Models that were registered under other names."""

from __future__ import annotations

from agents.base.store.registered import Registry
from agents.loop.models import RegisteredModel

registered_models = Registry(RegisteredModel, "Model")
