"""Real SDKs against a live server: programs that people might have written, and what the log makes of them.

``python -m tests.sdks [NAME…]`` runs all of them or those named; no other command does, as each installs an SDK from
its registry. A folder is an SDK: ``program.py`` (or ``program.mjs``), which the environment alone points here, as
the page /connect/ says; what it needs, pinned, in ``requirements.txt`` (or ``package.json``); and ``expected.toml``:

``agent``      the agent's name in the log
``session``    the session's name there
``source``     the form of report
``way``        the name of its way on the page: what is exported there is its environment
``api``        the API it asks the model by: ``chat/completions``, else ``responses``
``asked``      the user's words in both turns, where they are not `trial.SCRIPTS`
``answers``    what comes back, where it is not `trial.ANSWERS`
``waits``      whether it asks somebody after its first turn, and waits: with the first of its ``answers``, and goes on
               with the second that is ``asked``
``steps``      the types of a turn's steps, where they are not `trial.STEPS`
``tool``       what its tool is called, where that is not ``get_weather``
``arguments``  what that is called with in both turns, where it is not `trial.ARGUMENTS`
``failure``    a part of what the log says of the call that fails
``variables``  further variables of its environment
``missing``    facts of `facts` that the SDK does not report, each with the reason

``python -m tests.sdks --record FOLDER NAME…`` also writes the telemetry that reached the server, a capture for each
SDK, as those of ``tests/telemetry/reading/captures/``.
"""
