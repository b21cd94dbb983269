"""Automations and runs in the words of OpenAI's Agents API."""
