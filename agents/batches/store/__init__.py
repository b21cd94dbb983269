"""Rows of batches."""
