"""The table of shields that were registered over the API."""

from __future__ import annotations

from django.db import models

from agents.base.models.registered import Registered
from agents.base.models.scoped import Scoped


class Shield(Registered):
    """A shield registered over the API. Those of the settings have no row."""

    class Meta(Scoped.Meta):
        constraints = [
            # found by its name for each turn that names it; registered once by those who share it
            models.UniqueConstraint(fields=["identifier", "owner", "scope"], name="shield_identifier"),
        ]
