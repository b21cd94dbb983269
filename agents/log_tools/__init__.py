"""The log as tools for other agents: an MCP server over HTTP and stdio, with the rights of its caller's key.

Each request stands alone: there are no sessions, so any process answers any of them. What a tool answers is text of a
bounded length, which says how to go on.
"""
