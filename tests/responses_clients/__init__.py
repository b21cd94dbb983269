"""Real clients of the Responses API, and of Anthropic's Messages API, against a live server: programs that people might
have written, and coding agents.

``python -m tests.responses_clients [NAME…]`` runs all of them or those named; no other command does, as each installs
a client from its registry. A folder is a client: ``program.py`` (or ``program.mjs``), and what it needs, pinned, in
``requirements.txt`` (or ``package.json``). A program is a list of checks, functions that fail where the client or the
server does other than it should; ``shared/`` has what runs and reports them.

Each program has a server of its own, which keeps what clients ask not to store (``KEEP_UNSTORED``), and in its
environment:

``OPENAI_BASE_URL``  the server, as OpenAI's clients want it, and ``OPENAI_API_KEY``
``SERVER``           the server
``MODEL``            its scripted model; `agents.loop.inference.scripted` has what it can be told to do
``GPT_MODEL``        the same under a name that looks like OpenAI's, for clients that look at names
``MCP_SERVER``       an MCP server with a tool ``get_boiling_point``
"""
