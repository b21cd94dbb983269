"""The one app of this project. A map of its rooms, from the ground floor up.

A module may import only from floors below its own; ``tests/test_architecture.py`` holds that.

=====================  ==========================================================================
``errors``             every exception raised on purpose, each knowing its HTTP status
``redaction``          strikes secrets out of what endpoints and tools say
``ids``                the only place that mints keys, reads the clock and forms public ids
``moments``            microseconds since 1970 to datetimes and back
``schemas/``           the types: wire bodies (Pydantic), events, encoded items; no Django
``providers/``         inference, tools, safety, memory, embeddings, identity: one package per kind
``runtime/``           the agent loop: an async generator of numbered events; no Django
``ingest/``            what agents elsewhere report, decoded and read into turns and steps; pure
``comparison/``        two turns side by side: which step answers to which, what differs; pure
``access``             who acts (`Actor`), and which scopes an actor may read
``query/``             the query language: parse, tree, describe, matches; no tables
``bus``                live turns in memory, and the doorbell of changes between readers
``models/``            the tables
``store/``             the only code that reads and writes the tables (besides the admin); sync
``wire/``              the dialects: our events and rows as bodies and frames of the Agents and Responses APIs
``runner/``            starts, resumes and cancels runs: one task each, outliving the request
``live``               follow a turn or a list: catch up from the store, then the bus
``rights``             whether those who were let in still may: open streams, sockets, runs
``api/``               the REST edge (Django REST framework, sync views)
``ui/``                the pages; what both it and the API say, it takes from there
``demo/``              sample turns of every kind, played by the real loop
``admin/``             Django admin for those who manage agents
``management/``        commands: ``demo``, ``admin_link``, ``prices``, ``logs``
``consumers/``         the WebSocket edge; carries the pages' own fragments
``routing``            the socket's URL
=====================  ==========================================================================

Async lives in ``providers, runtime, runner, bus, live, consumers``; sync in ``models, store,
admin, api, ui``. They meet in ``runner``, ``live``, ``store/recorder``, ``api/base`` and, for
request threads and shutdown, in ``agentsite``, which also has the command ``serve``.
"""
