"""Sample agents and turns of every kind, made by the real loop with a clock of its own.

``scenes`` and ``visits`` define the scenes, ``stage`` plays one, ``load`` stores them, ``questions`` lets the
scripted model play them again.
"""

REQUIRED_SUBJECTS = ("tools", "safety", "knowledge")
"""The subjects that the demo's agents need."""
