"""Embeddings: texts as vectors, so that what means the same lies close together."""
