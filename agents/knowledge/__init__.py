"""Files, vector databases and retrieval: documents in, chunks out, for tools and for turns."""
