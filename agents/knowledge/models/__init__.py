"""Tables: files, vector databases, documents, chunks."""
