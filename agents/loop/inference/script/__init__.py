"""The parts of `agents.loop.inference.scripted`, one job each.

``conversation`` reads what was said, ``language`` what a script wants, ``replies`` makes up an
answer where there is none, ``sample`` a value for a JSON schema, and ``performance`` makes chunks
of the ``acts`` they decide on.
"""
