"""Sample agents and turns of every kind, made by the real loop with a clock of its own.

``scenes`` and ``visits`` define the scenes, ``stage`` plays one, ``load`` stores them, ``questions`` lets the
scripted model play them again.
"""

from agents.base.subjects import is_installed

REQUIRED_SUBJECTS = ("tools", "safety", "knowledge")
"""The subjects that the demo's agents need."""


def is_needed() -> bool:
    """Return whether a start is to load the demo: what its agents need is installed, and the store has no agents."""
    from agents.record.models.agents import Agent  # models can be imported only when they are loaded

    can_be_shown = all(map(is_installed, REQUIRED_SUBJECTS))
    return can_be_shown and not Agent.objects.unscoped("first start").exists()
