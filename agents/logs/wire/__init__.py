"""Rows as JSON lines, CSV and Parquet."""
