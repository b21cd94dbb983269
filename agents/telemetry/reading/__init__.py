"""What agents that run elsewhere report, read into our own records.

``decode`` (one module a format: `otlp`, `openai_agents`, …) makes `spans.Span` of a request's body or a
file's lines. They are stored as they are; what they mean is told by a pure function of all spans of a trace,
`turns.of_spans`, which may be asked again whenever one more has come: `records.ForeignTurn`.
"""
