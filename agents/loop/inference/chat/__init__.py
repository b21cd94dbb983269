"""The parts of `agents.loop.inference.openai_compatible`, one job each.

``request`` puts the body together, ``transport`` sends it over ``connections``, ``incoming`` reads
the bytes of the answer as long as ``patience`` allows, ``sse`` splits them, ``stream`` and
``call_parts`` make chunks of them, and ``faults`` words what went wrong.
"""
