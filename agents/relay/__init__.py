"""Requests without an agent, relayed to a model's endpoint: chat completions, completions, embeddings, inference."""
