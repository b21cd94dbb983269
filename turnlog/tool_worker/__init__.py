"""The process that runs the operator's functions for a server: there their imports find what the environment has, and
not the server's own folders.

The server starts ``__main__.py`` with one end of a socket, says which functions it wants, and is told their
definitions; then it sends calls. `frames` has the messages. Nothing here imports the server or Django.
"""
