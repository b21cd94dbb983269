"""Reads and writes what OpenAI's Agents API shows of the record."""
