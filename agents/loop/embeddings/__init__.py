"""Embedding models, which turn texts into vectors: texts of similar meaning have close vectors."""
