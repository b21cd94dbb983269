"""The REST views of OpenAI's Agents API."""
