"""Types of requests and answers of OpenAI's Agents API."""
