"""Wire types of models."""
