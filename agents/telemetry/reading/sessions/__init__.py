"""Readers of the session files that coding agents keep on disk: `claude_code`, `codex`, `gemini_cli`.

``from_lines(lines)`` makes a `Span` of each turn, each call of a model, each call of a tool and each sub-agent. The
attribute ``kind`` tells them apart; the trace is ``<session>:<turn>``. Messages, arguments, results and usage
are in these attributes exactly as in the file, in the shape of the agent's own provider:

===========  ==========================================================================================
``turn``     ``session``, ``input`` (a list of messages of the user), ``output`` (text, where the file says
             it), ``cwd``, ``version``, ``git_branch``, ``model``, ``instructions``, ``interrupted``
``model``    ``model``, ``input`` (a list: what was new to the model since its last call: messages of the
             user, answers of tools), ``output`` (a list of messages or items), ``usage``, ``stop_reason``
``tool``     ``name``, ``call_id``, ``arguments``, ``result``, ``is_error``, ``interrupted``
``agent``    ``name``, ``agent_id``; its parent is the tool that started it, its children what it did
===========  ==========================================================================================

Each format's module lists its further attributes. Attributes that the file does not have are absent. A span without an
end is still going on, or its file ends there. Reading a file again, or more of it, gives the same ids: `merging.merge`
unites them.

A model's call ends with its last line and begins with the line before its first: the time is that between the two,
not measured by the agent.
"""
