"""What the log has, in text for a model."""
