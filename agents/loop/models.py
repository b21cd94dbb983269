"""The table of models that were registered under other names."""

from __future__ import annotations

from django.db import models

from agents.base.models.registered import Registered
from agents.base.models.scoped import Scoped


class RegisteredModel(Registered):
    """Another name for a model of a configured endpoint. ``params`` are its ``model_type`` and its
    ``metadata``."""

    class Meta(Scoped.Meta):
        constraints = [
            # found by its name for each turn that names it; registered once by those who share it
            models.UniqueConstraint(fields=["identifier", "owner", "scope"], name="registered_model_identifier"),
        ]
