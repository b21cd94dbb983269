"""Tables: traces, their spans, imports."""
