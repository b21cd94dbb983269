"""The parts of `agents.loop.inference.scripted`, one job each.

``conversation`` parses the messages, ``language`` parses a script into ``actions``, ``replies`` chooses
the actions where there is no script, ``sample`` makes a value for a JSON schema, ``likelihood`` the probabilities of
tokens, and ``output`` turns
actions into chunks.
"""
