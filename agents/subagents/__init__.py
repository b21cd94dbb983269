"""Agents as tools of other agents.

A call runs a turn of its own, in a session of its own, for the step that made it. In: the arguments of the group
``builtin::agents`` and a model's calls. Out: the answer of the other agent, and the tree of turns on a turn's page.
"""
