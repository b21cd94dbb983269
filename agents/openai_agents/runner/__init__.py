"""Starts turns, takes input and streams for OpenAI's Agents API."""
