"""Memory: what is looked up before a model is asked."""
