"""Turnlog, the agent server whose log is the run itself: what an installation lets others import.

`turnlog.client` reads and changes a server's log from other programs, `turnlog.tools` has what a function that the
server offers to models may use, and ``python -m turnlog`` is the server's command. The server itself is not imported
from here: its folders (``agents``, ``agentsite``) have names that other distributions have too, so an installation
keeps them in ``turnlog/_app``, and only the server's own process has that on its path.
"""

__version__ = "0.1.0"
