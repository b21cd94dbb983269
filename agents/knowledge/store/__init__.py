"""Writes and reads files, documents, chunks and vectors; searches them."""
