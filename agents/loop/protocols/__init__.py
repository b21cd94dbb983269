"""Protocols between the loop and tools, shields, retrieval and embeddings."""
