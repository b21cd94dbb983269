"""REST: completions, embeddings, inference."""
