"""Readers of documents, and embedding models."""
