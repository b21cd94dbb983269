"""Readers of the reports of agents that run elsewhere: from their formats to our own records.

A decoder (one module a format: `otlp`, `openai_agents`, …) makes `spans.Span` of a request's body or of a file's
lines. Spans are stored as they are. `turns.build_turns`, a pure function of all spans of a trace, makes
`records.ExternalTurn` of them, and is called again whenever one more span arrives.
"""
