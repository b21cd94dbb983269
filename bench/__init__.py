"""Load on the server under test, and a table of what it took with the targets beside it.

``python -m bench`` starts a model endpoint that answers at once, a server of its own on a fresh
store, and runs every case. Nothing of the server is imported: it is measured from outside, over
its sockets and from ``/proc``, so that any server that speaks the Agents API can be measured too.

=================  ==============================================================================
``__main__``       the arguments, and the run: endpoint, server, the cases one after another
``stage``          what a case finds: the API, the endpoint, the server's process, sizes
``cases/``         one file per case: an async generator of rows
``figures``        a row of the table, its target, medians
``endpoint``       the model endpoint, a process of its own
``models``         what a model's name promises: how many tokens, how fast, which tool calls
``client``         the Agents API as a load client sees it; many at a time
``streams``        reads server-sent events: timings, number of tokens, a completed end
``sockets``        reads WebSockets: every event once, no character missing
``server``         starts ``manage.py serve`` in an empty folder or several on one database; stops them by SIGTERM
``postgresql``     a PostgreSQL server of our own, started when it is first needed
``children``       a child process: started on a core, its log, its end
``processes``      CPU seconds and memory of a process and its children
``disk``           how long fdatasync takes here: every commit costs one
``report``         the table, in Markdown and JSON
``faults``         why a case could not be measured
=================  ==============================================================================

A stream that is cut, short of tokens or different from what the endpoint sent is a failed case,
not a fast one.
"""
