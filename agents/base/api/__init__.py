"""The base of REST views: a view authenticates, parses a body, and answers with bytes, a stream or an error."""
