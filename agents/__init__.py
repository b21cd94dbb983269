"""The one app of this project: one folder for each subject that a user of the product knows.

A subject imports only subjects that stand below it here, and none that stands beside it. ``pyproject.toml`` has
these rules as contracts, and ``make lint`` checks them.

=====================  ==========================================================================
``server``             puts the subjects together: URLs, the socket, commands, backups, checks, the demo
---------------------  --------------------------------------------------------------------------
``batches``            files of requests, run behind the back of those who sent them
---------------------  --------------------------------------------------------------------------
``identity``           login, API keys and groups on pages; identity providers that know tokens
``prices``             prices of models, costs of steps
``feedback``           ratings, scores, comments and tags of people
``forks``              a turn run again from one of its steps; two turns compared
``tools``              tools that the server runs: functions, MCP servers, web search, code
``safety``             shields and moderation
``knowledge``          files, vector databases, retrieval
``relay``              requests without an agent: chat completions, messages, completions, embeddings
``telemetry``          logs of agents that run elsewhere, in; our turns as spans, out
``log_tools``          the log as tools for other agents: an MCP server
``webhooks``           what turns come to, sent to the addresses that their owner has registered
``budgets``            limits of what inferences may spend, made and shown
``automations``        sessions that begin, or go on, at set times
``subagents``          agents as tools of other agents: the turns they run for a call, and the trees of these
---------------------  --------------------------------------------------------------------------
``pages``              pages and admin of the record: agents, sessions, turns, steps; the dashboard
``logs``               a query in; rows, facets, numbers, pages and exports of what matches out
``responses``          OpenAI's Responses and Conversations APIs
``llama_stack``        the Agents API of Llama Stack
``openai_agents``      the Agents API of OpenAI, on the same paths
``loop``               the agent loop, inference endpoints, the tasks that run turns
``record``             agents, sessions, turns, steps and items, from writing to deletion
``uikit``              parts of every page: formats, charts, JSON and Markdown views, templates, navigation
``query``              the query language: parse, describe, match; no tables
``base``               errors, ids, users and keys, access, the writer, the change feed, the base of REST views
=====================  ==========================================================================

Inside a subject each role has its file, or its folder where it is large. A role imports only roles below it:

=====================  ==========================================================================
``urls``, ``install``  routes of the API and of pages; what is registered with the subjects below
``admin``, ``pages``   Django admin; HTML pages
``api``                REST views, sync
``runner``, ``live``   async tasks and readers
``wire``               rows and events in the words of an API; no Django
``store``              the only code that reads and writes the tables, besides ``admin``; sync
``catalogue``          the fields of the record, for queries and numbers: ``record`` alone has one
``models``             the tables
``providers``          what can be exchanged: shields, tools, readers of documents, …; no Django
``schemas``            types of requests, answers, events; no Django
=====================  ==========================================================================

The loop with what belongs to it (``loop.loop``, ``loop.inference``, ``loop.protocols``) knows no Django either.
Async and sync code meet in ``base.reading``, ``base.feed_reader``, ``record.live``, ``record.mirrors``,
``record.store.recorder``, ``loop.run``, ``responses.runner.socket``, ``base.api.views`` and, for request threads and
shutdown, in ``agentsite``, which also has the commands ``serve``, ``backup``, ``restore`` and ``copy_to_postgres``.

The fifteen subjects from ``batches`` to ``subagents`` can be left out by the setting ``INSTALLED_SUBJECTS``. What
they add to those below them they register in ``install``: tools, shields and documents of a turn
(``loop.extensions``) and of a response (``responses.runner.extensions``), work of a serving process
(``loop.background``), places on pages (``pages.places``), fields of queries and formats of exports (``logs``),
comparisons (``logs.log_hooks``), what they do before turns are deleted (``record.store.deletion_hooks``), what they
write when turns end or wait (``record.store.ending_hooks``). ``server.subjects`` calls them, and puts their ``urls``
together. Their tables are there in any case: the database is the same whichever are installed. Which rows go with a
deleted record, the foreign keys of all tables declare; ``record.store.references`` makes the statements of that.
The package ``turnlog``, beside this one, is what others import and start: the server imports its version and the frames
of ``turnlog.tool_worker``, and it imports nothing of the server.
``models.py`` and ``admin.py`` of the app collect those of the subjects for Django. ``migrations/``, ``locale/``,
``management/`` (the commands ``demo``, ``admin_link``, ``prices``, ``logs``, ``retention``, ``partition``, ``mcp``),
``templates/`` and ``templatetags/`` (what the admin looks like) stand where Django looks for them. Pages are rendered
from ``templates/<subject>/`` with the files of ``static/<subject>/``, both beside this package; parts of pages begin
with an underscore.
"""
