"""Starts, resumes and cancels runs. ``prepare`` turns a request into a run
(``toolset``, ``toolgroups``, ``guards`` and ``knowledge`` its parts, ``library`` and ``rag`` what
retrieves) from the ``providers`` there are; ``tasks`` owns the running ones. Never decides what the loop should do."""
