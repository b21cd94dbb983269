"""Wire types of files, filters, vector stores and vector databases."""
