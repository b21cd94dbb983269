"""REST: OTLP, other reports, imports, spans."""
