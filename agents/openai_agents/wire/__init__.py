"""Rows and events in the words of OpenAI's Agents API."""
